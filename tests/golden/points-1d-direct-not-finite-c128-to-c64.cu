// stencil: 3 taps in 1D, c128; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"stencil","dtype":"c128","output_dtype":"c64","stencil":{"shape":"points","points":[{"offset":[0],
//   "weight":{"re":"nan","im":"-inf"}},{"offset":[1],"weight":1e-300}]},"boundary":[{"lo":{"constant":{"re":0.0,
//   "im":1.0}},"hi":"reflect"}],"fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil: grid (ceil(nx / 256), 1, 1), block (256, 1, 1), 0 bytes of dynamic shared memory
//   stencil_last: grid (ceil(nx / 256), 1, 1), block (256, 1, 1), 0 bytes of dynamic shared memory

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
// A complex number. Weights scale it; imaginary ones turn it as well.
struct __align__(16) value_t { real re, im; };
__device__ __forceinline__ value_t scaled(real w, value_t v) { return {w * v.re, w * v.im}; }
__device__ __forceinline__ value_t turned(real w, value_t v) { return {-w * v.im, w * v.re}; }
__device__ __forceinline__ value_t add_scaled(real w, value_t v, value_t to) {
  return {fma(w, v.re, to.re), fma(w, v.im, to.im)};
}
__device__ __forceinline__ value_t add_turned(real w, value_t v, value_t to) {
  return {fma(-w, v.im, to.re), fma(w, v.re, to.im)};
}

// result_t: c64.
typedef struct __align__(8) { float re, im; } result_t;
__device__ __forceinline__ result_t store_result(value_t v) {
  return {float(v.re), float(v.im)};
}

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = __builtin_bit_cast(double, 0x7ff8000000000000ull);  // NaN
constexpr real W1 = __builtin_bit_cast(double, 0xfff0000000000000ull);  // -inf
constexpr real W2 = 0x1.56e1fc2f8f359p-997;  // 1e-300

// Update 1: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update0(At at) {
  value_t sum = scaled(W0, at(0));
  sum = add_turned(W1, at(0), sum);
  sum = add_scaled(W2, at(1), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// x: constant 0.0+1.0i below, reflect above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n, real& scale, value_t& offset) {
  while (i < 0 || i >= n) {
    if (i < 0) { offset.im += scale * 0x1p0; scale = 0; i = 0; }
    else { i = 2 * n - 1 - i; }
  }
  return i;
}
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ value_t beyond(real scale, value_t v, value_t offset) {
  if (scale == 1 && offset.re == 0 && offset.im == 0) return v;
  return {fma(scale, v.re, offset.re), fma(scale, v.im, offset.im)};
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ value_t outside(const value_t* in, index_t x, index_t nx) {
  real scale = 1; value_t offset = {0, 0};
  x = map_x(x, nx, scale, offset);
  if (scale == 0) return offset;
  return beyond(scale, in[x], offset);
}

// 1 step: one thread a cell, blocks of 256 cells.
extern "C" __global__ void __launch_bounds__(256)
stencil(const value_t* __restrict__ in, value_t* __restrict__ out, index_t nx) {
  const index_t x = index_t(blockIdx.x) * 256 + threadIdx.x;
  if (x >= nx) return;
  const index_t cell = x;
  if (x < nx - 1) {
    const value_t* const u = in + cell;
    out[cell] = update0([&](int dx) { return u[dx]; });
  } else {
    out[cell] = update0([&](int dx) { return outside(in, x + dx, nx); });
  }
}
// 1 step: one thread a cell, blocks of 256 cells.
extern "C" __global__ void __launch_bounds__(256)
stencil_last(const value_t* __restrict__ in, result_t* __restrict__ out, index_t nx) {
  const index_t x = index_t(blockIdx.x) * 256 + threadIdx.x;
  if (x >= nx) return;
  const index_t cell = x;
  if (x < nx - 1) {
    const value_t* const u = in + cell;
    out[cell] = store_result(update0([&](int dx) { return u[dx]; }));
  } else {
    out[cell] = store_result(update0([&](int dx) { return outside(in, x + dx, nx); }));
  }
}

