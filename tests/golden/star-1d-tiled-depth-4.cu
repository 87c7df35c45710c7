// diffusion: 3 taps in 1D, f64; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"diffusion","dtype":"f64","stencil":{"shape":"star","radius":1,"center":0.5,"arms":[0.25]},
//   "boundary":[{"lo":{"dirichlet":1.0},"hi":{"neumann":-0.5}}],"fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   diffusion: grid (ceil(nx / 1016), 1, 1), block (256, 1, 1), 16384 bytes of dynamic shared memory
//   diffusion_single: grid (ceil(nx / 1016), 1, 1), block (256, 1, 1), 8144 bytes of dynamic shared memory

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

typedef double real;
typedef int index_t;

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1p-2;  // 0.25
constexpr real W1 = 0x1p-1;  // 0.5

// Update 1: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-1);
  sum = fma(W1, at(0), sum);
  sum = fma(W0, at(1), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// x: dirichlet 1.0 below, neumann, spacing * slope = -0.5 above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, real& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset += scale * 0x1p1; scale = -scale; i = -1 - i; }
    else { offset += scale * real(2 * (i - n) + 1) * -0x1p-1; i = 2 * n - 1 - i; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fma(scale, v, offset);
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t x, index_t nx) {
  real scale = 1, offset = 0;
  x = map_x(x, nx, scale, offset);
  if (scale == 0) return offset;
  return beyond(scale, in[x], offset);
}

// 4 steps of the grid: a block a tile of 1016 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
diffusion(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  real* from = (real*)sg_dyn_smem();
  real* to = from + 1024;
  // The tile is [x0, x1).
  index_t block = blockIdx.x;
  const index_t x0 = block * 1016;
  const index_t x1 = x0 + 1016 < nx ? x0 + 1016 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = x0 < 4 || x0 + 1020 > nx;

  // Load the tile with its halo, 1024 cells.
  if (edge) {
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 1024; lx += 256) {
      const index_t x = x0 - 4 + lx;
      // No cell needs what lies further beyond the grid.
      if (x < x1 + 4)
        from[lx] = outside(in, x, nx);
    }
  } else {
    for (int lx = threadIdx.x; lx < 1024; lx += 256) {
      const index_t x = x0 - 4 + lx;
      sg_cp_async<8>(&from[lx], &in[x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 3; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int x_below = left, x_above = left;
    const int x_cells = x_below + 1016 + x_above;
    // Its place in the buffers.
    const int first = (4 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        index_t x = x0 - x_below + lx;
        if (x >= x1 + x_above) continue;
        real scale = 1, offset = 0;
        x = map_x(x, nx, scale, offset);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(x - x0 + 4);
        real value = offset;
        if (scale != 0) {
          value = update0([&](int dx) { return u[dx]; });
          value = beyond(scale, value, offset);
        }
        if (left > 0) to[first + lx] = value;
        else out[x] = value;
      }
    } else {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        const int place = first + lx;
        const real* const u = from + place;
        real value[1];
#pragma unroll
        for (int k = 0; k < 1; ++k)
          value[k] = update0([&](int dx) { return u[dx]; });
        const index_t cell = (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 1; ++k) {
          if (left > 0) to[place] = value[k];
          else out[cell] = value[k];
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
}

// 1 step of the grid: a block a tile of 1016 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
diffusion_single(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  real* from = (real*)sg_dyn_smem();
  // The tile is [x0, x1).
  index_t block = blockIdx.x;
  const index_t x0 = block * 1016;
  const index_t x1 = x0 + 1016 < nx ? x0 + 1016 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = x0 < 1 || x0 + 1017 > nx;

  // Load the tile with its halo, 1018 cells.
  if (edge) {
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 1018; lx += 256) {
      const index_t x = x0 - 1 + lx;
      // No cell needs what lies further beyond the grid.
      if (x < x1 + 1)
        from[lx] = outside(in, x, nx);
    }
  } else {
    for (int lx = threadIdx.x; lx < 1018; lx += 256) {
      const index_t x = x0 - 1 + lx;
      sg_cp_async<8>(&from[lx], &in[x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 1016 + x_above;
    // Its place in the buffers.
    const int first = (1 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        index_t x = x0 - x_below + lx;
        if (x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(x - x0 + 1);
        real value = update0([&](int dx) { return u[dx]; });
        out[x] = value;
      }
    } else {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        const int place = first + lx;
        const real* const u = from + place;
        real value[1];
#pragma unroll
        for (int k = 0; k < 1; ++k)
          value[k] = update0([&](int dx) { return u[dx]; });
        const index_t cell = (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 1; ++k) {
          out[cell] = value[k];
        }
      }
    }
  }
}


