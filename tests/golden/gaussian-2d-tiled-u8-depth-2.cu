// stencil: 10 taps in 2D, u8; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"stencil","dtype":"u8","stencil":{"preset":"gaussian","sigma":0.5,"truncate":4.0},
//   "boundary":"mirror","fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(ny / 16) * ceil(nx / 60), 1, 1), block (32, 8, 1), 13056 bytes of dynamic shared memory
//   stencil_single: grid (ceil(ny / 16) * ceil(nx / 60), 1, 1), block (32, 8, 1), 10240 bytes of dynamic shared memory

// --- prelude: what the kernels need from the machine, in one place -------------------------------------------------
#ifndef SG_PRELUDE
#define SG_PRELUDE
// Dynamic shared memory of the block.
__device__ __forceinline__ void* sg_dyn_smem() {
  extern __shared__ __align__(16) unsigned char sg_shared[];
  return sg_shared;
}
// Copies BYTES (4, 8 or 16, aligned) from global to shared memory without waiting; before sm_80, waiting.
template <int BYTES>
__device__ __forceinline__ void sg_cp_async(void* to_shared, const void* from_global) {
#if __CUDA_ARCH__ >= 800
  const unsigned to = (unsigned)__cvta_generic_to_shared(to_shared);
  if (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from_global) : "memory");  // past the first-level cache
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from_global), "n"(BYTES) : "memory");
#else
  for (int i = 0; i < BYTES / 4; ++i) ((unsigned*)to_shared)[i] = ((const unsigned*)from_global)[i];
#endif
}
// Makes the copies begun since the last call a group.
__device__ __forceinline__ void sg_cp_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most N groups of this thread are under way.
template <int N>
__device__ __forceinline__ void sg_cp_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
#endif
// --- end of prelude ------------------------------------------------------------------------------------------------

typedef float real;
typedef int index_t;

// cell_t: u8.
typedef unsigned char cell_t;
__device__ __forceinline__ real load(cell_t v) { return real(v); }
__device__ __forceinline__ cell_t store(real v) {
  v = rintf(v);  // half to even
  return v >= 0x1.fep7f ? cell_t(0x1.fep7f) : v > 0.0f ? cell_t(v) : v <= 0.0f ? cell_t(0.0f) : cell_t(0);  // NaN gives 0
}
// The value that is read of a cell in which `v` was stored.
__device__ __forceinline__ real settled(real v) { return load(store(v)); }

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1.14aebep-12f;  // 0.00026386508
constexpr real W1 = 0x1.b405bap-4f;  // 0.106450774
constexpr real W2 = 0x1.92b966p-1f;  // 0.7865707

// Update 1: 5 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-2, 0);
  sum = fmaf(W1, at(-1, 0), sum);
  sum = fmaf(W2, at(0, 0), sum);
  sum = fmaf(W1, at(1, 0), sum);
  sum = fmaf(W0, at(2, 0), sum);
  return sum;
}

// Update 2: 5 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update1(At at) {
  real sum = W0 * at(0, -2);
  sum = fmaf(W1, at(0, -1), sum);
  sum = fmaf(W2, at(0, 0), sum);
  sum = fmaf(W1, at(0, 1), sum);
  sum = fmaf(W0, at(0, 2), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: mirror below, mirror above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = n == 1 ? 0 : -i; }
    else { i = n == 1 ? 0 : 2 * n - 2 - i; }
  }
  return i;
}
// x: mirror below, mirror above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = n == 1 ? 0 : -i; }
    else { i = n == 1 ? 0 : 2 * n - 2 - i; }
  }
  return i;
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const cell_t* in, index_t y, index_t x, index_t ny, index_t nx) {
  y = map_y(y, ny);
  x = map_x(x, nx);
  return load(in[y * nx + x]);
}

// 2 steps of the grid: a block a tile of 16 x 60 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 68;
  real* from = (real*)sg_dyn_smem();
  real* to = from + 1632;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 59) / 60;
  const index_t x0 = block % blocks_x * 60;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 60 < nx ? x0 + 60 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 4 || y0 + 20 > ny || x0 < 4 || x0 + 64 > nx;

  // Load the tile with its halo, 24 x 68 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 24; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 68; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 4 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 4 && x < x1 + 4)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 24; ly += 8)
    for (int lx = threadIdx.x; lx < 68; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 4 + lx;
      from[ly * ROW + lx] = load(in[y * nx + x]);
    }
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 1; left >= 0; --left) {
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 2 * left, y_above = 2 * left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 2 * left + 2, x_above = 2 * left + 2;
    const int x_cells = x_below + 60 + x_above;
    // Its place in the buffers.
    const int first = (4 - y_below) * ROW + (4 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        y = map_y(y, ny);
        x = map_x(x, nx);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 4) * ROW + int(x - x0 + 4);
        real value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
        to[first + ly * ROW + lx] = value;
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 32)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update0([&](int dy, int dx) { return u[dy * ROW + dx + k * ROW]; });
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          to[place + k * ROW] = value[k];
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
  {
    __syncthreads();
    // Update 2 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 2 * left, y_above = 2 * left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 2 * left, x_above = 2 * left;
    const int x_cells = x_below + 60 + x_above;
    // Its place in the buffers.
    const int first = (4 - y_below) * ROW + (4 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        y = map_y(y, ny);
        x = map_x(x, nx);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 4) * ROW + int(x - x0 + 4);
        real value = update1([&](int dy, int dx) { return u[dy * ROW + dx]; });
        value = settled(value);
        if (left > 0) to[first + ly * ROW + lx] = value;
        else out[y * nx + x] = store(value);
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 32)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update1([&](int dy, int dx) { return u[dy * ROW + dx + k * ROW]; });
        const index_t first_cell = (y0 - y_below + ly) * nx + (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          const index_t cell = first_cell + k * nx;
          value[k] = settled(value[k]);
          if (left > 0) to[place + k * ROW] = value[k];
          else out[cell] = store(value[k]);
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
  }
}

// 1 step of the grid: a block a tile of 16 x 60 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil_single(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 64;
  real* from = (real*)sg_dyn_smem();
  real* to = from + 1280;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 59) / 60;
  const index_t x0 = block % blocks_x * 60;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 60 < nx ? x0 + 60 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 2 || y0 + 18 > ny || x0 < 2 || x0 + 62 > nx;

  // Load the tile with its halo, 20 x 64 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 20; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 64; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 2 && x < x1 + 2)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 20; ly += 8)
    for (int lx = threadIdx.x; lx < 64; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      from[ly * ROW + lx] = load(in[y * nx + x]);
    }
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 2, x_above = 2;
    const int x_cells = x_below + 60 + x_above;
    // Its place in the buffers.
    const int first = (2 - y_below) * ROW + (2 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        x = map_x(x, nx);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        real value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
        to[first + ly * ROW + lx] = value;
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 32)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update0([&](int dy, int dx) { return u[dy * ROW + dx + k * ROW]; });
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          to[place + k * ROW] = value[k];
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
  {
    __syncthreads();
    // Update 2 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 60 + x_above;
    // Its place in the buffers.
    const int first = (2 - y_below) * ROW + (2 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        real value = update1([&](int dy, int dx) { return u[dy * ROW + dx]; });
        out[y * nx + x] = store(value);
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 32)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update1([&](int dy, int dx) { return u[dy * ROW + dx + k * ROW]; });
        const index_t first_cell = (y0 - y_below + ly) * nx + (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          const index_t cell = first_cell + k * nx;
          out[cell] = store(value[k]);
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
}


