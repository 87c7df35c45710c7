// stencil: 7 taps in 3D, f16; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"stencil","dtype":"f16","stencil":{"preset":"heat","diffusivity":1.0,"dt":0.1,"spacing":1.0,
//   "accuracy":2},"boundary":["periodic","reflect",{"lo":{"dirichlet":1.0},"hi":"fixed"}],"fast_math":false}
//
// Arrays hold nz * ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(nz / 8) * ceil(ny / 8) * ceil(nx / 28), 1, 1), block (32, 2, 4), 36864 bytes of dynamic shared memory
//   stencil_single: grid (ceil(nz / 8) * ceil(ny / 8) * ceil(nx / 28), 1, 1), block (32, 2, 4), 12000 bytes of dynamic shared memory

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

// cell_t: f16.
typedef sg_half cell_t;
__device__ __forceinline__ real load(cell_t v) { return sg_half_to_float(v); }
__device__ __forceinline__ cell_t store(real v) {
  return sg_float_to_half(v);
}
// The value that is read of a cell in which `v` was stored.
__device__ __forceinline__ real settled(real v) { return load(store(v)); }

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1.99999ap-4f;  // 0.1
constexpr real W1 = 0x1.99999ap-2f;  // 0.4

// Update 1: 7 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-1, 0, 0);
  sum = fmaf(W0, at(0, -1, 0), sum);
  sum = fmaf(W0, at(0, 0, -1), sum);
  sum = fmaf(W1, at(0, 0, 0), sum);
  sum = fmaf(W0, at(0, 0, 1), sum);
  sum = fmaf(W0, at(0, 1, 0), sum);
  sum = fmaf(W0, at(1, 0, 0), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// z: periodic below, periodic above.
__device__ __forceinline__ index_t map_z(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i += n; }
    else { i -= n; }
  }
  return i;
}
// y: reflect below, reflect above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = -1 - i; }
    else { i = 2 * n - 1 - i; }
  }
  return i;
}
// x: dirichlet 1.0 below, fixed above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, real& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset += scale * 0x1p1f; scale = -scale; i = -1 - i; }
    else { i = n - 1; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const cell_t* in, index_t z, index_t y, index_t x, index_t nz, index_t ny, index_t nx) {
  real scale = 1, offset = 0;
  z = map_z(z, nz);
  y = map_y(y, ny);
  x = map_x(x, nx, scale, offset);
  if (scale == 0) return offset;
  return beyond(scale, load(in[(z * ny + y) * nx + x]), offset);
}

// 2 steps of the grid: a block a tile of 8 x 8 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx) {
  constexpr int ROW = 32;
  constexpr int PLANE = 384;
  real* from = (real*)sg_dyn_smem();
  real* to = from + 4608;
  // The tile is [z0, z1) x [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t blocks_y = (ny + 7) / 8;
  const index_t y0 = block % blocks_y * 8;
  block /= blocks_y;
  const index_t z0 = block * 8;
  const index_t z1 = z0 + 8 < nz ? z0 + 8 : nz;
  const index_t y1 = y0 + 8 < ny ? y0 + 8 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = z0 < 2 || z0 + 10 > nz || y0 < 2 || y0 + 10 > ny || x0 < 2 || x0 + 30 > nx;

  // Load the tile with its halo, 12 x 12 x 32 cells.
  if (edge) {
#pragma unroll 1
    for (int lz = threadIdx.z; lz < 12; lz += 4)
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 12; ly += 2)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 32; lx += 32) {
      const index_t z = z0 - 2 + lz;
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      // No cell needs what lies further beyond the grid.
      if (z < z1 + 2 && y < y1 + 2 && x < x1 + 2)
        from[lz * PLANE + ly * ROW + lx] = outside(in, z, y, x, nz, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int lz = threadIdx.z; lz < 12; lz += 4)
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 12; ly += 2)
    for (int lx = threadIdx.x; lx < 32; lx += 32) {
      const index_t z = z0 - 2 + lz;
      const index_t y = y0 - 2 + ly;
      const index_t x = x0 - 2 + lx;
      from[lz * PLANE + ly * ROW + lx] = load(in[(z * ny + y) * nx + x]);
    }
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 1; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int z_below = left, z_above = left;
    const int z_cells = z_below + 8 + z_above;
    const int y_below = left, y_above = left;
    const int y_cells = y_below + 8 + y_above;
    const int x_below = left, x_above = left;
    const int x_cells = x_below + 28 + x_above;
    // Its place in the buffers.
    const int first = (2 - z_below) * PLANE + (2 - y_below) * ROW + (2 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lz = threadIdx.z; lz < z_cells; lz += 4)
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 2)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t z = z0 - z_below + lz;
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (z >= z1 + z_above || y >= y1 + y_above || x >= x1 + x_above) continue;
        real scale = 1, offset = 0;
        y = map_y(y, ny);
        x = map_x(x, nx, scale, offset);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(z - z0 + 2) * PLANE + int(y - y0 + 2) * ROW + int(x - x0 + 2);
        real value = offset;
        if (scale != 0) {
          value = update0([&](int dz, int dy, int dx) { return u[dz * PLANE + dy * ROW + dx]; });
          if (x >= nx - 1 || x < 1 - nx) value = load(in[(map_z(z, nz) * ny + y) * nx + x]);  // a tap would pass a fixed face
          value = settled(value);
          value = beyond(scale, value, offset);
        }
        const index_t cell = (z * ny + y) * nx + x;
        if (left > 0) to[first + lz * PLANE + ly * ROW + lx] = value;
        else if (x >= nx - 1 || x < 1 - nx) out[cell] = in[cell];  // a tap would pass a fixed face
        else out[cell] = store(value);
      }
    } else {
#pragma unroll 1
      for (int lz = threadIdx.z; lz < z_cells; lz += 4)
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + lz * PLANE + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update0([&](int dz, int dy, int dx) { return u[dz * PLANE + dy * ROW + dx + k * ROW]; });
        const index_t first_cell = ((z0 - z_below + lz) * ny + (y0 - y_below + ly)) * nx + (x0 - x_below + lx);
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

// 1 step of the grid: a block a tile of 8 x 8 x 28 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
stencil_single(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx) {
  constexpr int ROW = 30;
  constexpr int PLANE = 300;
  real* from = (real*)sg_dyn_smem();
  // The tile is [z0, z1) x [y0, y1) x [x0, x1).
  index_t block = blockIdx.x;
  const index_t blocks_x = (nx + 27) / 28;
  const index_t x0 = block % blocks_x * 28;
  block /= blocks_x;
  const index_t blocks_y = (ny + 7) / 8;
  const index_t y0 = block % blocks_y * 8;
  block /= blocks_y;
  const index_t z0 = block * 8;
  const index_t z1 = z0 + 8 < nz ? z0 + 8 : nz;
  const index_t y1 = y0 + 8 < ny ? y0 + 8 : ny;
  const index_t x1 = x0 + 28 < nx ? x0 + 28 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = z0 < 1 || z0 + 9 > nz || y0 < 1 || y0 + 9 > ny || x0 < 1 || x0 + 29 > nx;

  // Load the tile with its halo, 10 x 10 x 30 cells.
  if (edge) {
#pragma unroll 1
    for (int lz = threadIdx.z; lz < 10; lz += 4)
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 10; ly += 2)
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t z = z0 - 1 + lz;
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      // No cell needs what lies further beyond the grid.
      if (z < z1 + 1 && y < y1 + 1 && x < x1 + 1)
        from[lz * PLANE + ly * ROW + lx] = outside(in, z, y, x, nz, ny, nx);
    }
  } else {
#pragma unroll 1
    for (int lz = threadIdx.z; lz < 10; lz += 4)
#pragma unroll 1
    for (int ly = threadIdx.y; ly < 10; ly += 2)
    for (int lx = threadIdx.x; lx < 30; lx += 32) {
      const index_t z = z0 - 1 + lz;
      const index_t y = y0 - 1 + ly;
      const index_t x = x0 - 1 + lx;
      from[lz * PLANE + ly * ROW + lx] = load(in[(z * ny + y) * nx + x]);
    }
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int z_below = 0, z_above = 0;
    const int z_cells = z_below + 8 + z_above;
    const int y_below = 0, y_above = 0;
    const int y_cells = y_below + 8 + y_above;
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 28 + x_above;
    // Its place in the buffers.
    const int first = (1 - z_below) * PLANE + (1 - y_below) * ROW + (1 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lz = threadIdx.z; lz < z_cells; lz += 4)
#pragma unroll 1
      for (int ly = threadIdx.y; ly < y_cells; ly += 2)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        index_t z = z0 - z_below + lz;
        index_t y = y0 - y_below + ly;
        index_t x = x0 - x_below + lx;
        if (z >= z1 + z_above || y >= y1 + y_above || x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(z - z0 + 1) * PLANE + int(y - y0 + 1) * ROW + int(x - x0 + 1);
        real value = update0([&](int dz, int dy, int dx) { return u[dz * PLANE + dy * ROW + dx]; });
        const index_t cell = (z * ny + y) * nx + x;
        if (x >= nx - 1 || x < 1 - nx) out[cell] = in[cell];  // a tap would pass a fixed face
        else out[cell] = store(value);
      }
    } else {
#pragma unroll 1
      for (int lz = threadIdx.z; lz < z_cells; lz += 4)
#pragma unroll 1
      for (int gy = threadIdx.y * 4; gy < y_cells; gy += 8)
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 32) {
        // 4 rows at a time. The last group is moved up rather than cut; what another group has is not stored.
        const int ly = gy + 4 <= y_cells ? gy : y_cells - 4;
        const int place = first + lz * PLANE + ly * ROW + lx;
        const real* const u = from + place;
        real value[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          value[k] = update0([&](int dz, int dy, int dx) { return u[dz * PLANE + dy * ROW + dx + k * ROW]; });
        const index_t first_cell = ((z0 - z_below + lz) * ny + (y0 - y_below + ly)) * nx + (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (ly + k < gy) continue;
          const index_t cell = first_cell + k * nx;
          out[cell] = store(value[k]);
        }
      }
    }
  }
}


