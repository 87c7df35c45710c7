// stencil: 6 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"stencil","dtype":"f32","stencil":{"shape":"separable","weights":[[0.25,0.5,0.5],[0.5,1.0,0.5]],
//   "origin":0,"operation":"correlate"},"boundary":[{"lo":"zero","hi":{"constant":3.0}},"replicate"],
//   "fast_math":false,"ignore_nan":true}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   stencil_pass1: grid (ceil(nx / 64), ceil(ny / 4), 1), block (64, 4, 1), 0 bytes of dynamic shared memory
//   stencil_pass2: grid (ceil(nx / 64), ceil(ny / 4), 1), block (64, 4, 1), 0 bytes of dynamic shared memory

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
// A sum and the sum of its weights, NaN cells being left out of both.
struct __align__(8) value_t { real sum, weight; };
__device__ __forceinline__ value_t scaled(real w, value_t v) { return {w * v.sum, w * v.weight}; }
__device__ __forceinline__ value_t add_scaled(real w, value_t v, value_t to) {
  return {fmaf(w, v.sum, to.sum), fmaf(w, v.weight, to.weight)};
}

// cell_t: f32.
typedef float cell_t;
__device__ __forceinline__ value_t load(cell_t v) { return v != v ? value_t{0, 0} : value_t{v, 1}; }
__device__ __forceinline__ cell_t store(value_t v) {
  real q = v.sum / v.weight;
  return float(q);
}
__device__ __forceinline__ value_t load(value_t v) { return v; }

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1.4p0f;  // 1.25
constexpr real W1 = 0x1p-2f;  // 0.25
constexpr real W2 = 0x1p-1f;  // 0.5
constexpr real W3 = 0x1p0f;  // 1.0

// Update 1: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update0(At at) {
  value_t sum = scaled(W1, at(-1, 0));
  sum = add_scaled(W2, at(0, 0), sum);
  sum = add_scaled(W2, at(1, 0), sum);
  return sum;
}

// Update 2: 3 taps.
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ value_t update1(At at) {
  value_t sum = scaled(W2, at(0, -1));
  sum = add_scaled(W3, at(0, 0), sum);
  sum = add_scaled(W2, at(0, 1), sum);
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// y: constant 0.0 below, constant 3.0 above.
__device__ __forceinline__ index_t map_y(index_t i, index_t n, real& scale, real& offset, real& weight) {
  while (i < 0 || i >= n) {
    if (i < 0) { weight = 0; scale = 0; i = 0; }
    else { offset += scale * 0x1.8p1f; scale = 0; i = n - 1; }
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
// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ value_t beyond(real scale, value_t v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return {fmaf(scale, v.sum, offset * v.weight), v.weight};
}

// The value at a place that may lie outside; the slowest axis maps first.
template <class In>
__device__ __noinline__ value_t outside(const In* in, index_t y, index_t x, index_t ny, index_t nx, real full) {
  real scale = 1, offset = 0, weight = 1;
  y = map_y(y, ny, scale, offset, weight);
  x = map_x(x, nx);
  if (scale == 0) return {offset * weight * full, weight * full};
  return beyond(scale, load(in[y * nx + x]), offset);
}

// pass 1 of 2 of a step: one thread a cell, blocks of 4 x 64 cells.
extern "C" __global__ void __launch_bounds__(256)
stencil_pass1(const cell_t* __restrict__ in, value_t* __restrict__ out, index_t ny, index_t nx) {
  const index_t y = index_t(blockIdx.y) * 4 + threadIdx.y;
  const index_t x = index_t(blockIdx.x) * 64 + threadIdx.x;
  if (y >= ny || x >= nx) return;
  const index_t cell = y * nx + x;
  if (y >= 1 && y < ny - 1) {
    const cell_t* const u = in + cell;
    out[cell] = update0([&](int dy, int dx) { return load(u[index_t(dy) * nx + dx]); });
  } else {
    out[cell] = update0([&](int dy, int dx) { return outside(in, y + dy, x + dx, ny, nx, 1); });
  }
}
// pass 2 of 2 of a step: one thread a cell, blocks of 4 x 64 cells.
extern "C" __global__ void __launch_bounds__(256)
stencil_pass2(const value_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx) {
  const index_t y = index_t(blockIdx.y) * 4 + threadIdx.y;
  const index_t x = index_t(blockIdx.x) * 64 + threadIdx.x;
  if (y >= ny || x >= nx) return;
  const index_t cell = y * nx + x;
  if (x >= 1 && x < nx - 1) {
    const value_t* const u = in + cell;
    out[cell] = store(update1([&](int dy, int dx) { return u[index_t(dy) * nx + dx]; }));
  } else {
    out[cell] = store(update1([&](int dy, int dx) { return outside(in, y + dy, x + dx, ny, nx, W0); }));
  }
}

