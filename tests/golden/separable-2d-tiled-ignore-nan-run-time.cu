// stencil: 6 taps in 2D, bf16; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments, and weights, which are set at run time:
//   {"name":"stencil","dtype":"bf16","boundary":[{"lo":{"dirichlet":1.0},"hi":{"constant":3.0}},"zero"],
//   "fast_math":false,"weights_at_run_time":true,"ignore_nan":true}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(ny / 16) * ceil(nx / 28), 1, 1), block (32, 8, 1), 10240 bytes of dynamic shared memory
//   stencil_single: grid (ceil(ny / 16) * ceil(nx / 28), 1, 1), block (32, 8, 1), 8640 bytes of dynamic shared memory

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

// --- prelude, halves: numbers of 16 bits, as they are stored --------------------------------------------------------
#ifndef SG_PRELUDE_HALF
#define SG_PRELUDE_HALF
struct sg_half { unsigned short bits; };      // binary16
struct sg_bfloat16 { unsigned short bits; };  // the upper half of a binary32
__device__ __forceinline__ float sg_half_to_float(sg_half v) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v.bits));
  return wide;
}
// Half to even, as all that follow.
__device__ __forceinline__ sg_half sg_float_to_half(float v) {
  sg_half narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(v));
  return narrow;
}
__device__ __forceinline__ float sg_bfloat16_to_float(sg_bfloat16 v) { return __uint_as_float((unsigned)v.bits << 16); }
__device__ __forceinline__ sg_bfloat16 sg_float_to_bfloat16(float v) {
  const unsigned bits = __float_as_uint(v);
  if (v != v) return {(unsigned short)(bits >> 16 | 0x40)};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
// Towards zero, with the last bit set if that was not exact: rounding this once more is rounding once.
__device__ __forceinline__ float sg_to_odd(double v) {
  const float near = __double2float_rz(v);
  return near == v || v != v ? near : __uint_as_float(__float_as_uint(near) | 1);
}
__device__ __forceinline__ sg_half sg_double_to_half(double v) { return sg_float_to_half(sg_to_odd(v)); }
__device__ __forceinline__ sg_bfloat16 sg_double_to_bfloat16(double v) { return sg_float_to_bfloat16(sg_to_odd(v)); }
#endif
// --- end of prelude, halves ----------------------------------------------------------------------------------------

typedef float real;
typedef int index_t;
// A sum and the sum of its weights, NaN cells being left out of both.
struct __align__(8) value_t { real sum, weight; };
__device__ __forceinline__ value_t scaled(real w, value_t v) { return {w * v.sum, w * v.weight}; }
__device__ __forceinline__ value_t add_scaled(real w, value_t v, value_t to) {
  return {fmaf(w, v.sum, to.sum), fmaf(w, v.weight, to.weight)};
}

// cell_t: bf16.
typedef sg_bfloat16 cell_t;
__device__ __forceinline__ value_t load(cell_t v) { return sg_bfloat16_to_float(v) != sg_bfloat16_to_float(v) ? value_t{0, 0} : value_t{sg_bfloat16_to_float(v), 1}; }
__device__ __forceinline__ cell_t store(value_t v) {
  real q = v.sum / v.weight;
  return sg_float_to_bfloat16(q);
}
// The value that is read of a cell in which `v` was stored.
__device__ __forceinline__ value_t settled(value_t v) { return load(store(v)); }

// Weights of all updates in the order of their taps, then what the passes before each add up to; set by the host.
__constant__ real W[8];

// Update 1: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update0(At at) {
  value_t sum = scaled(W[0], at(-1, 0));
  sum = add_scaled(W[1], at(0, 0), sum);
  sum = add_scaled(W[2], at(1, 0), sum);
  return sum;
}

// Update 2: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update1(At at) {
  value_t sum = scaled(W[3], at(0, -1));
  sum = add_scaled(W[4], at(0, 0), sum);
  sum = add_scaled(W[5], at(0, 1), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: dirichlet 1.0 below, constant 3.0 above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n, real& scale, real& offset, real& weight) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset += scale * 0x1p1f; scale = -scale; i = -1 - i; }
    else { offset += scale * 0x1.8p1f; scale = 0; i = n - 1; }
  }
  return i;
}
// x: constant 0.0 below, constant 0.0 above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, real& offset, real& weight) {
  while (i < 0 || i >= n) {
    if (i < 0) { weight = 0; scale = 0; i = 0; }
    else { weight = 0; scale = 0; i = n - 1; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ value_t beyond(real scale, value_t v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return {fmaf(scale, v.sum, offset * v.weight), v.weight};
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ value_t outside(const cell_t* in, index_t y, index_t x, index_t ny, index_t nx, real full) {
  real scale = 1, offset = 0, weight = 1;
  y = map_y(y, ny, scale, offset, weight);
  x = map_x(x, nx, scale, offset, weight);
  if (scale == 0) return {offset * weight * full, weight * full};
  return beyond(scale, load(in[y * nx + x]), offset);
}

// 2 steps of the grid: a block a tile of 16 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 32;
  value_t* from = (value_t*)sg_dyn_smem();
  value_t* to = from + 640;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 2 || y0 + 18 > ny || x0 < 2 || x0 + 30 > nx;

  // Load the tile with its halo, 20 x 32 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 20; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 32; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 2 && x < x1 + 2)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx, 1);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 20; ly += 8)
    for (int lx = threadIdx.x; lx < 32; lx += 32) {
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      from[ly * ROW + lx] = load(in[y * nx + x]);
    }
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 1; left >= 0; --left) {
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = left, y_above = left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = left + 1, x_above = left + 1;
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
        real scale = 1, offset = 0, weight = 1;
        y = map_y(y, ny, scale, offset, weight);
        x = map_x(x, nx, scale, offset, weight);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        value_t value = {offset * weight * W[7], weight * W[7]};
        if (scale != 0) {
          value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
          value = beyond(scale, value, offset);
        }
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
        const value_t* const u = from + place;
        value_t value[4];
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
    value_t* const swapped = from;
    from = to;
    to = swapped;
  }
  {
    __syncthreads();
    // Update 2 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = left, y_above = left;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = left, x_above = left;
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
        real scale = 1, offset = 0, weight = 1;
        y = map_y(y, ny, scale, offset, weight);
        x = map_x(x, nx, scale, offset, weight);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        value_t value = {offset * weight * 1, weight * 1};
        if (scale != 0) {
          value = update1([&](int dy, int dx) { return u[dy * ROW + dx]; });
          value = settled(value);
          value = beyond(scale, value, offset);
        }
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
        const value_t* const u = from + place;
        value_t value[4];
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
    value_t* const swapped = from;
    from = to;
    to = swapped;
  }
  }
}

// 1 step of the grid: a block a tile of 16 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil_single(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx) {
  constexpr int ROW = 30;
  value_t* from = (value_t*)sg_dyn_smem();
  value_t* to = from + 540;
  // The tile is [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t y0 = block * 16;
  const index_t y1 = y0 + 16 < ny ? y0 + 16 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = y0 < 1 || y0 + 17 > ny || x0 < 1 || x0 + 29 > nx;

  // Load the tile with its halo, 18 x 30 cells.
  if (edge) {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 18; ly += 8)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      // No cell needs what lies further beyond the grid.
      if (y < y1 + 1 && x < x1 + 1)
        from[ly * ROW + lx] = outside(in, y, x, ny, nx, 1);
    }
  } else {
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 18; ly += 8)
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      from[ly * ROW + lx] = load(in[y * nx + x]);
    }
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 1, x_above = 1;
    const int x_cells = x_below + 28 + x_above;
    // Its place in the buffers.
    const int first = (1 - y_below) * ROW + (1 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        real scale = 1, offset = 0, weight = 1;
        x = map_x(x, nx, scale, offset, weight);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 1) * ROW + int(x - x0 + 1);
        value_t value = {offset * weight * W[7], weight * W[7]};
        if (scale != 0) {
          value = update0([&](int dy, int dx) { return u[dy * ROW + dx]; });
          value = beyond(scale, value, offset);
        }
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
        const value_t* const u = from + place;
        value_t value[4];
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
    value_t* const swapped = from;
    from = to;
    to = swapped;
  }
  {
    __syncthreads();
    // Update 2 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 16 + y_above;
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 28 + x_above;
    // Its place in the buffers.
    const int first = (1 - y_below) * ROW + (1 - x_below);
    if (edge) {
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const value_t* const u = from + int(y - y0 + 1) * ROW + int(x - x0 + 1);
        value_t value = update1([&](int dy, int dx) { return u[dy * ROW + dx]; });
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
        const value_t* const u = from + place;
        value_t value[4];
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
    value_t* const swapped = from;
    from = to;
    to = swapped;
  }
}


