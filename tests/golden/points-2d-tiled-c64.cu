// stencil: 4 taps in 2D, c64; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"stencil","dtype":"c64","stencil":{"shape":"points","points":[{"offset":[0,0],"weight":{"re":0.5,
//   "im":-0.25}},{"offset":[-1,0],"weight":{"re":0.0,"im":0.125}},{"offset":[0,2],"weight":0.1}]},
//   "boundary":[{"dirichlet":{"re":1.0,"im":-2.0}},{"lo":"replicate","hi":{"neumann":{"re":0.0,"im":0.5}}}],
//   "fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(ny / 16) * ceil(nx / 28), 1, 1), block (32, 8, 1), 10336 bytes of dynamic shared memory
//   stencil_single: grid (ceil(ny / 16) * ceil(nx / 28), 1, 1), block (32, 8, 1), 4080 bytes of dynamic shared memory

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
// A complex number. Weights scale it; imaginary ones turn it as well.
struct __align__(8) value_t { real re, im; };
__device__ __forceinline__ value_t scaled(real w, value_t v) { return {w * v.re, w * v.im}; }
__device__ __forceinline__ value_t turned(real w, value_t v) { return {-w * v.im, w * v.re}; }
__device__ __forceinline__ value_t add_scaled(real w, value_t v, value_t to) {
  return {fmaf(w, v.re, to.re), fmaf(w, v.im, to.im)};
}
__device__ __forceinline__ value_t add_turned(real w, value_t v, value_t to) {
  return {fmaf(-w, v.im, to.re), fmaf(w, v.re, to.im)};
}

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1p-3f;  // 0.125
constexpr real W1 = 0x1p-1f;  // 0.5
constexpr real W2 = -0x1p-2f;  // -0.25
constexpr real W3 = 0x1.99999ap-4f;  // 0.1

// Update 1: 4 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update0(At at) {
  value_t sum = turned(W0, at(-1, 0));
  sum = add_scaled(W1, at(0, 0), sum);
  sum = add_turned(W2, at(0, 0), sum);
  sum = add_scaled(W3, at(0, 2), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: dirichlet 1.0-2.0i below, dirichlet 1.0-2.0i above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n, real& scale, value_t& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset.re += scale * 0x1p1f; offset.im += scale * -0x1p2f; scale = -scale; i = -1 - i; }
    else { offset.re += scale * 0x1p1f; offset.im += scale * -0x1p2f; scale = -scale; i = 2 * n - 1 - i; }
  }
  return i;
}
// x: replicate below, neumann, spacing * slope = 0.0+0.5i above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, value_t& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = 0; }
    else { offset.im += scale * real(2 * (i - n) + 1) * 0x1p-1f; i = 2 * n - 1 - i; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ value_t beyond(real scale, value_t v, value_t offset) {
  if (scale == 1 && offset.re == 0 && offset.im == 0) return v;
  return {fmaf(scale, v.re, offset.re), fmaf(scale, v.im, offset.im)};
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ value_t outside(const value_t* in, index_t y, index_t x, index_t ny, index_t nx) {
  real scale = 1; value_t offset = {0, 0};
  y = map_y(y, ny, scale, offset);
  x = map_x(x, nx, scale, offset);
  if (scale == 0) return offset;
  return beyond(scale, in[y * nx + x], offset);
}

// 2 steps of the grid: a block a tile of 16 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil(const value_t* __restrict__ in, value_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 34;
  value_t* from = (value_t*)sg_dyn_smem();
  value_t* to = from + 646;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 2 || y0 + 17 > ny || x0 < 2 || x0 + 32 > nx;

  // Load the tile with its halo, 19 x 34 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 19; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 34; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 1 && x < x1 + 4)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 19; ly += 8)
    for (int lx = threadIdx.x; lx < 34; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      sg_cp_async<8>(&from[ly * ROW + lx], &in[y * nx + x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 1; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = left, y_above = left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 2 * left, x_above = 2 * left;
    const int x_cells = x_below + 28 + x_above;
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
        real scale = 1; value_t offset = {0, 0};
        y = map_y(y, ny, scale, offset);
        x = map_x(x, nx, scale, offset);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        value_t value = offset;
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
        const value_t* const u = from + place;
        value_t value[4];
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
    value_t* const swapped = from;
    from = to;
    to = swapped;
  }
}

// 1 step of the grid: a block a tile of 16 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil_single(const value_t* __restrict__ in, value_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 30;
  value_t* from = (value_t*)sg_dyn_smem();
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 1 || y0 + 16 > ny || x0 + 30 > nx;

  // Load the tile with its halo, 17 x 30 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 17; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 && x < x1 + 2)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 17; ly += 8)
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 + lx;
      sg_cp_async<8>(&from[ly * ROW + lx], &in[y * nx + x]);
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
    const int x_cells = x_below + 28 + x_above;
    // Its place in the buffers.
    const int first = (1 - y_below) * ROW + (0 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 1) * ROW + int(x - x0 + 0);
        value_t value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
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
        const value_t* const u = from + place;
        value_t value[4];
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


