// line: 5 taps in 1D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"line","dtype":"f32","stencil":{"shape":"star","radius":2,"center":0.5,"arms":[0.2,0.05]},
//   "boundary":[{"lo":{"dirichlet":1.0},"hi":"reflect"}],"fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   line: grid (ceil((1 + ceil((nx - 512) / 448)) / 4), 1, 1), block (128, 1, 1), 0 bytes of dynamic shared memory
//   line_few: grid (ceil((1 + ceil((nx - 512) / 480)) / 4), 1, 1), block (128, 1, 1), 0 bytes of dynamic shared memory
//   line_single: grid (ceil((1 + ceil((nx - 512) / 480)) / 4), 1, 1), block (128, 1, 1), 0 bytes of dynamic shared memory
// For grids of nx at least 512 and a multiple of 4.
// The last argument is not used.

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
constexpr real W0 = 0x1.99999ap-5f;  // 0.05
constexpr real W1 = 0x1.99999ap-3f;  // 0.2
constexpr real W2 = 0x1p-1f;  // 0.5


// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// Cells of a row that a lane holds, and a warp.
constexpr int V = 16, SPAN = 512;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
struct __align__(16) lane_t { real cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// The value k = 1, 2, ... cells beyond the low face of x; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_x_lo(real v, int k) { return beyond(-0x1p0f, v, 0x1p1f); }

// Update 1: 5 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axes.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == 0) {
    sum = fmaf(W0, at(-2), sum);
    sum = fmaf(W1, at(-1), sum);
    sum = fmaf(W2, at(0), sum);
    sum = fmaf(W1, at(1), sum);
    sum = fmaf(W0, at(2), sum);
  }
  return sum;
}
// Cells of a row beyond the faces of the grid, from those inside; `lo` and `hi` are the numbers of lanes between this one and the
// low and the high face, if they lie in the span.
template <bool SIDES>
__device__ __forceinline__ void beyond_row0(real (&wide)[2 + V + 2], int lo, int hi) {
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 2; ++lane)
#pragma unroll
      for (int k = 1; k <= 2 - lane * V; ++k) {
        const int face = 2 - lane * V;
        const real v = beyond_x_lo(wide[face + k - 1], k);
        wide[face - k] = lo == lane ? v : wide[face - k];
      }
  }
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 2; ++lane)
#pragma unroll
      for (int k = 1; k <= 2 - lane * V; ++k) {
        const int face = 2 + V - 1 + lane * V;
        const real v = wide[face - (k - 1)];
        wide[face + k] = hi == lane ? v : wide[face + k];
      }
  }
}
// The 2 and 2 neighbours of a row beside a lane's cells, from the other lanes and from beyond faces.
template <bool SIDES>
__device__ __forceinline__ void widen0(const real (&row)[V], real (&wide)[2 + V + 2], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) wide[2 + k] = row[k];
#pragma unroll
  for (int k = 1; k <= 2; ++k) wide[2 - k] = from_left(row[(k + V - 1) / V * V - k], (k + V - 1) / V);
#pragma unroll
  for (int k = 1; k <= 2; ++k) wide[2 + V - 1 + k] = from_right(row[(k - 1) % V], (k + V - 1) / V);
  beyond_row0<SIDES>(wide, lo, hi);
}


// A row, with its neighbours in `wide`, arrives at update 1.
template <bool SIDES>
__device__ __forceinline__ void pass0(real (&row)[V], const real (&wide)[2 + V + 2], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const auto at = [&](int dx) { return wide[2 + k + dx]; };
    row[k] = add0<0>(-0.0f, at);
  }
}

// Stores a lane's cells at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void line_store(const real* in, real* target, const real (&row)[V], index_t first_cell, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}

// Stores a lane's cells at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void line_few_store(const real* in, real* target, const real (&row)[V], index_t first_cell, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}

// Stores a lane's cells at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void line_single_store(const real* in, real* target, const real (&row)[V], index_t first_cell, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}


// 16 steps of a span of cells, which begins at x0, by a warp: all cells stay in registers.
template <bool SIDES>
__device__ __forceinline__ void line_make(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t x0, bool first, bool last) {
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const index_t x = x0 + lane * V;
  struct __align__(16) piece_t { real cell[4]; };
  piece_t pieces[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const index_t from = x + i * 4;
    pieces[i] = *(const piece_t*)(in + from);
  }
  real row[V];
#pragma unroll
  for (int k = 0; k < V; ++k) row[k] = pieces[k / 4].cell[k % 4];
#pragma unroll 2
  for (int t = 0; t < 16; ++t) {
    {
      real wide[2 + V + 2];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(row, wide, lo, hi);
    }
  }
  // Neighbouring spans make the cells of the other lanes.
  if ((first || lane * V >= 32) && (last || lane * V < SPAN - 32)) line_store<SIDES, false>(in, out + x, row, x, lo, hi);
}
// 16 steps: spans of cells are numbered along the warps of a block, then blocks along blockIdx.x.
extern "C" __global__ void __launch_bounds__(128)
line(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t) {
  constexpr int WARPS = 4, STRIDE = 448;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = 1 + (nx - SPAN + STRIDE - 1) / STRIDE;
  const index_t span = index_t(blockIdx.x) * WARPS + warp;
  if (span >= spans) return;
  // The last span is moved inward, and ends at the face.
  const index_t x0 = span + 1 < spans ? span * STRIDE : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const bool sides = first || last;
  if (sides) line_make<true>(in, out, nx, x0, first, last);
  else line_make<false>(in, out, nx, x0, first, last);
}

// 4 steps of a span of cells, which begins at x0, by a warp: all cells stay in registers.
template <bool SIDES>
__device__ __forceinline__ void line_few_make(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t x0, bool first, bool last) {
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const index_t x = x0 + lane * V;
  struct __align__(16) piece_t { real cell[4]; };
  piece_t pieces[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const index_t from = x + i * 4;
    pieces[i] = *(const piece_t*)(in + from);
  }
  real row[V];
#pragma unroll
  for (int k = 0; k < V; ++k) row[k] = pieces[k / 4].cell[k % 4];
#pragma unroll 2
  for (int t = 0; t < 4; ++t) {
    {
      real wide[2 + V + 2];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(row, wide, lo, hi);
    }
  }
  // Neighbouring spans make the cells of the other lanes.
  if ((first || lane * V >= 16) && (last || lane * V < SPAN - 16)) line_few_store<SIDES, false>(in, out + x, row, x, lo, hi);
}
// 4 steps: spans of cells are numbered along the warps of a block, then blocks along blockIdx.x.
extern "C" __global__ void __launch_bounds__(128)
line_few(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t) {
  constexpr int WARPS = 4, STRIDE = 480;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = 1 + (nx - SPAN + STRIDE - 1) / STRIDE;
  const index_t span = index_t(blockIdx.x) * WARPS + warp;
  if (span >= spans) return;
  // The last span is moved inward, and ends at the face.
  const index_t x0 = span + 1 < spans ? span * STRIDE : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const bool sides = first || last;
  if (sides) line_few_make<true>(in, out, nx, x0, first, last);
  else line_few_make<false>(in, out, nx, x0, first, last);
}

// 1 step of a span of cells, which begins at x0, by a warp: all cells stay in registers.
template <bool SIDES>
__device__ __forceinline__ void line_single_make(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t x0, bool first, bool last) {
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const index_t x = x0 + lane * V;
  struct __align__(16) piece_t { real cell[4]; };
  piece_t pieces[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const index_t from = x + i * 4;
    pieces[i] = *(const piece_t*)(in + from);
  }
  real row[V];
#pragma unroll
  for (int k = 0; k < V; ++k) row[k] = pieces[k / 4].cell[k % 4];
#pragma unroll 2
  for (int t = 0; t < 1; ++t) {
    {
      real wide[2 + V + 2];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(row, wide, lo, hi);
    }
  }
  // Neighbouring spans make the cells of the other lanes.
  if ((first || lane * V >= 16) && (last || lane * V < SPAN - 16)) line_single_store<SIDES, false>(in, out + x, row, x, lo, hi);
}
// 1 step: spans of cells are numbered along the warps of a block, then blocks along blockIdx.x.
extern "C" __global__ void __launch_bounds__(128)
line_single(const real* __restrict__ in, real* __restrict__ out, index_t nx, index_t) {
  constexpr int WARPS = 4, STRIDE = 480;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = 1 + (nx - SPAN + STRIDE - 1) / STRIDE;
  const index_t span = index_t(blockIdx.x) * WARPS + warp;
  if (span >= spans) return;
  // The last span is moved inward, and ends at the face.
  const index_t x0 = span + 1 < spans ? span * STRIDE : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const bool sides = first || last;
  if (sides) line_single_make<true>(in, out, nx, x0, first, last);
  else line_single_make<false>(in, out, nx, x0, first, last);
}

