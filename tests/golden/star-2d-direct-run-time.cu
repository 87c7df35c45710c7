// stencil: 5 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments, and weights, which are set at run time:
//   {"name":"stencil","dtype":"f32","boundary":"replicate","fast_math":false,"weights_at_run_time":true}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(nx / 64), ceil(ny / 4), 1), block (64, 4, 1), 0 bytes of dynamic shared memory

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

// Weights of all updates in the order of their taps; set by the host.
__constant__ real W[5];

// Update 1: 5 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W[0] * at(-1, 0);
  sum = fmaf(W[1], at(0, -1), sum);
  sum = fmaf(W[2], at(0, 0), sum);
  sum = fmaf(W[3], at(0, 1), sum);
  sum = fmaf(W[4], at(1, 0), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: replicate below, replicate above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = 0; }
    else { i = n - 1; }
  }
  return i;
}
// x: replicate below, replicate above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = 0; }
    else { i = n - 1; }
  }
  return i;
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t y, index_t x, index_t ny, index_t nx) {
  y = map_y(y, ny);
  x = map_x(x, nx);
  return in[y * nx + x];
}

// 1 step: one thread a cell, blocks of 4 x 64 cells.
extern "C" __global__ void __launch_bounds__(256)
stencil(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx) {
  const index_t y = index_t(blockIdx.y) * 4 + threadIdx.y;
  const index_t x = index_t(blockIdx.x) * 64 + threadIdx.x;
  if (y >= ny || x >= nx) return;
  const index_t cell = y * nx + x;
  if (y >= 1 && y < ny - 1 && x >= 1 && x < nx - 1) {
    const real* const u = in + cell;
    out[cell] = update0([&](int dy, int dx) { return u[index_t(dy) * nx + dx]; });
  } else {
    out[cell] = update0([&](int dy, int dx) { return outside(in, y + dy, x + dx, ny, nx); });
  }
}

