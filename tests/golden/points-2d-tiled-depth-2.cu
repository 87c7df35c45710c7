// lopsided: 4 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"lopsided","dtype":"f32","stencil":{"shape":"points","points":[{"offset":[0,0],"weight":0.5},
//   {"offset":[-2,1],"weight":0.25},{"offset":[0,3],"weight":0.125},{"offset":[1,0],"weight":1e-20}]},
//   "boundary":[{"lo":{"dirichlet":1.0},"hi":{"neumann":0.5}},"mirror"],"fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   lopsided: grid (ceil(ny / 16) * ceil(nx / 57), 1, 1), block (32, 8, 1), 12144 bytes of dynamic shared memory
//   lopsided_single: grid (ceil(ny / 16) * ceil(nx / 57), 1, 1), block (32, 8, 1), 4560 bytes of dynamic shared memory

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

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1p-2f;  // 0.25
constexpr real W1 = 0x1p-1f;  // 0.5
constexpr real W2 = 0x1p-3f;  // 0.125
constexpr real W3 = 0x1.79ca1p-67f;  // 1e-20

// Update 1: 4 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-2, 1);
  sum = fmaf(W1, at(0, 0), sum);
  sum = fmaf(W2, at(0, 3), sum);
  sum = fmaf(W3, at(1, 0), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: dirichlet 1.0 below, neumann, spacing * slope = 0.5 above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n, real& scale, real& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset += scale * 0x1p1f; scale = -scale; i = -1 - i; }
    else { offset += scale * real(2 * (i - n) + 1) * 0x1p-1f; i = 2 * n - 1 - i; }
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
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t y, index_t x, index_t ny, index_t nx) {
  real scale = 1, offset = 0;
  y = map_y(y, ny, scale, offset);
  x = map_x(x, nx);
  if (scale == 0) return offset;
  return beyond(scale, in[y * nx + x], offset);
}

// 2 steps of the grid: a block a tile of 16 x 57 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
lopsided(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 66;
  real* from = (real*)sg_dyn_smem();
  real* to = from + 1518;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 56) / 57;
  const index_t x0 = block % blocks_x * 57;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 57 < nx ? x0 + 57 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 4 || y0 + 19 > ny || x0 < 3 || x0 + 63 > nx;

  // Load the tile with its halo, 23 x 66 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 23; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 66; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 3 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 3 && x < x1 + 6)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 23; ly += 8)
    for (int lx = threadIdx.x; lx < 66; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 3 + lx;
      sg_cp_async<4>(&from[ly * ROW + lx], &in[y * nx + x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 1; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 2 * left, y_above = 2 * left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 3 * left, x_above = 3 * left;
    const int x_cells = x_below + 57 + x_above;
    // Its place in the buffers.
    const int first = (4 - y_below) * ROW + (3 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        real scale = 1, offset = 0;
        y = map_y(y, ny, scale, offset);
        x = map_x(x, nx);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 4) * ROW + int(x - x0 + 3);
        real value = offset;
        if (scale != 0) {
          value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
          value = beyond(scale, value, offset);
        }
        if (left > 0) to[first + ly * ROW + lx] = value;
        else out[y * nx + x] = value;
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
        const index_t first_cell = (y0 - y_below + ly) * nx + (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          const index_t cell = first_cell + k * nx;
          if (left > 0) to[place + k * ROW] = value[k];
          else out[cell] = value[k];
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
}

// 1 step of the grid: a block a tile of 16 x 57 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
lopsided_single(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 60;
  real* from = (real*)sg_dyn_smem();
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 56) / 57;
  const index_t x0 = block % blocks_x * 57;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 57 < nx ? x0 + 57 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 2 || y0 + 17 > ny || x0 + 60 > nx;

  // Load the tile with its halo, 19 x 60 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 19; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 60; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 1 && x < x1 + 3)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 19; ly += 8)
    for (int lx = threadIdx.x; lx < 60; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 + lx;
      sg_cp_async<4>(&from[ly * ROW + lx], &in[y * nx + x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 57 + x_above;
    // Its place in the buffers.
    const int first = (2 - y_below) * ROW + (0 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 0);
        real value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
        out[y * nx + x] = value;
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
        const index_t first_cell = (y0 - y_below + ly) * nx + (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          const index_t cell = first_cell + k * nx;
          out[cell] = value[k];
        }
      }
    }
  }
}


