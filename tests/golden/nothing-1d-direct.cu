// no taps: // \: 0 taps in 1D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"no taps: // \\","dtype":"f32","stencil":{"shape":"star","radius":1,"center":0.0,"arms":[0.0]},
//   "boundary":"zero","fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   no_taps: grid (ceil(nx / 256), 1, 1), block (256, 1, 1), 0 bytes of dynamic shared memory

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

// Update 1: 0 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = 0;
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// x: constant 0.0 below, constant 0.0 above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, real& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { scale = 0; i = 0; }
    else { scale = 0; i = n - 1; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t x, index_t nx) {
  real scale = 1, offset = 0;
  x = map_x(x, nx, scale, offset);
  if (scale == 0) return offset;
  return beyond(scale, in[x], offset);
}

// 1 step: one thread a cell, blocks of 256 cells.
extern "C" __global__ void __launch_bounds__(256)
no_taps(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  const index_t x = index_t(blockIdx.x) * 256 + threadIdx.x;
  if (x >= nx) return;
  const index_t cell = x;
  if (true) {
    const real* const u = in + cell;
    out[cell] = update0([&](int dx) { return u[dx]; });
  } else {
    out[cell] = update0([&](int dx) { return outside(in, x + dx, nx); });
  }
}

