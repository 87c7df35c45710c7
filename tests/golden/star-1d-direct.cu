// difference: 7 taps in 1D, f64; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"difference","dtype":"f64","stencil":{"preset":"derivative","axis":0,"order":2,"accuracy":6,
//   "spacing":0.5},"boundary":"mirror","fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   difference: grid (ceil(nx / 256), 1, 1), block (256, 1, 1), 0 bytes of dynamic shared memory

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
constexpr real W0 = 0x1.6c16c16c16c16p-5;  // 0.04444444444444444
constexpr real W1 = -0x1.3333333333333p-1;  // -0.6
constexpr real W2 = 0x1.8p2;  // 6.0
constexpr real W3 = -0x1.5c71c71c71c71p3;  // -10.888888888888888

// Update 1: 7 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  real sum = W0 * at(-3);
  sum = fma(W1, at(-2), sum);
  sum = fma(W2, at(-1), sum);
  sum = fma(W3, at(0), sum);
  sum = fma(W2, at(1), sum);
  sum = fma(W1, at(2), sum);
  sum = fma(W0, at(3), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// x: mirror below, mirror above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = n == 1 ? 0 : -i; }
    else { i = n == 1 ? 0 : 2 * n - 2 - i; }
  }
  return i;
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t x, index_t nx) {
  x = map_x(x, nx);
  return in[x];
}

// 1 step: one thread a cell, blocks of 256 cells.
extern "C" __global__ void __launch_bounds__(256)
difference(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  const index_t x = index_t(blockIdx.x) * 256 + threadIdx.x;
  if (x >= nx) return;
  const index_t cell = x;
  if (x >= 3 && x < nx - 3) {
    const real* const u = in + cell;
    out[cell] = update0([&](int dx) { return u[dx]; });
  } else {
    out[cell] = update0([&](int dx) { return outside(in, x + dx, nx); });
  }
}

