// heat: 5 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"heat","dtype":"f32","stencil":{"preset":"heat","diffusivity":1.0,"dt":0.1,"spacing":1.0,
//   "accuracy":2},"boundary":"periodic","fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   heat: grid (ceil(ny / 32) * ceil(nx / 120), 1, 1), block (32, 16, 1), 40960 bytes of dynamic shared memory
//   heat_single: grid (ceil(ny / 32) * ceil(nx / 120), 1, 1), block (32, 16, 1), 16592 bytes of dynamic shared memory

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
constexpr real W0 = 0x1.99999ap-4f;  // 0.1
constexpr real W1 = 0x1.333334p-1f;  // 0.6

// Update 1: 5 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-1, 0);
  sum = fmaf(W0, at(0, -1), sum);
  sum = fmaf(W1, at(0, 0), sum);
  sum = fmaf(W0, at(0, 1), sum);
  sum = fmaf(W0, at(1, 0), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: periodic below, periodic above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i += n; }
    else { i -= n; }
  }
  return i;
}
// x: periodic below, periodic above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i += n; }
    else { i -= n; }
  }
  return i;
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t y, index_t x, index_t ny, index_t nx) {
  y = map_y(y, ny);
  x = map_x(x, nx);
  return in[y * nx + x];
}

// 4 steps of the grid: a block a tile of 32 x 120 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(512)
heat(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 128;
  real* from = (real*)sg_dyn_smem();
  real* to = from + 5120;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 119) / 120;
  const index_t x0 = block % blocks_x * 120;
  block /= blocks_x;
  const index_t y0 = block * 32;
  const index_t y1 = y0 + 32 < ny ? y0 + 32 : ny;
  const index_t x1 = x0 + 120 < nx ? x0 + 120 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 4 || y0 + 36 > ny || x0 < 4 || x0 + 124 > nx;

  // Load the tile with its halo, 40 x 128 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 40; ly += 16)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 128; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 4 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 4 && x < x1 + 4)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 40; ly += 16)
    for (int lx = threadIdx.x; lx < 128; lx += 32) {
      const index_t y = y0 - 4 + ly;
      const index_t x = x0 - 4 + lx;
      sg_cp_async<4>(&from[ly * ROW + lx], &in[y * nx + x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 3; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = left, y_above = left;
    const int y_cells = y_below + 32 + y_above;
    const int x_below = left, x_above = left;
    const int x_cells = x_below + 120 + x_above;
    // Its place in the buffers.
    const int first = (4 - y_below) * ROW + (4 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 16)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 4) * ROW + int(x - x0 + 4);
        real value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
        if (left > 0) to[first + ly * ROW + lx] = value;
        else out[y * nx + x] = value;
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 64)
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

// 1 step of the grid: a block a tile of 32 x 120 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(512)
heat_single(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 122;
  real* from = (real*)sg_dyn_smem();
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 119) / 120;
  const index_t x0 = block % blocks_x * 120;
  block /= blocks_x;
  const index_t y0 = block * 32;
  const index_t y1 = y0 + 32 < ny ? y0 + 32 : ny;
  const index_t x1 = x0 + 120 < nx ? x0 + 120 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 1 || y0 + 33 > ny || x0 < 1 || x0 + 121 > nx;

  // Load the tile with its halo, 34 x 122 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 34; ly += 16)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 122; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 1 && x < x1 + 1)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 34; ly += 16)
    for (int lx = threadIdx.x; lx < 122; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      sg_cp_async<4>(&from[ly * ROW + lx], &in[y * nx + x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 32 + y_above;
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 120 + x_above;
    // Its place in the buffers.
    const int first = (1 - y_below) * ROW + (1 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 16)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(y - y0 + 1) * ROW + int(x - x0 + 1);
        real value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
        out[y * nx + x] = value;
      }
    } else {
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 64)
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


