// box: 9 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"box","dtype":"f32","stencil":{"shape":"box","weights":[[0.05,0.1,0.05],[0.1,0.4,0.1],[0.05,0.1,
//   0.05]],"origin":0,"operation":"correlate"},"boundary":[{"lo":"fixed","hi":"replicate"},
//   {"lo":{"neumann":0.5},"hi":"fixed"}],"fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   box: grid (ceil(ny / 8) * ceil(ceil(nx / 128) / 4), 1, 1), block (128, 1, 1), 0 bytes of dynamic shared memory
// For grids of ny at least 8, nx at least 128 and a multiple of 4.
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
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to_shared)), "l"(from_global), "n"(BYTES) : "memory");
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
constexpr real W1 = 0x1.99999ap-4f;  // 0.1
constexpr real W2 = 0x1.99999ap-2f;  // 0.4


// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// Cells of a row that a lane holds, and a warp.
constexpr int V = 4, SPAN = 128;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
struct __align__(16) lane_t { real cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// The value k = 1, 2, ... cells beyond the low face of x; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_x_lo(real v, int k) { return beyond(0x1p0f, v, real(2 * k - 1) * 0x1p-1f); }

// Update 1: 9 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axis.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == -1) {
    sum = fmaf(W0, at(-1), sum);
    sum = fmaf(W1, at(0), sum);
    sum = fmaf(W0, at(1), sum);
  }
  if (OFFSET == 0) {
    sum = fmaf(W1, at(-1), sum);
    sum = fmaf(W2, at(0), sum);
    sum = fmaf(W1, at(1), sum);
  }
  if (OFFSET == 1) {
    sum = fmaf(W0, at(-1), sum);
    sum = fmaf(W1, at(0), sum);
    sum = fmaf(W0, at(1), sum);
  }
  return sum;
}
// Cells of a row beyond the faces of the grid, from those inside; `lo` and `hi` are the numbers of lanes between this one and the
// low and the high face, if they lie in the span.
template <bool SIDES>
__device__ __forceinline__ void beyond_row0(real (&wide)[1 + V + 1], int lo, int hi) {
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 1; ++lane)
#pragma unroll
      for (int k = 1; k <= 1 - lane * V; ++k) {
        const int face = 1 - lane * V;
        const real v = beyond_x_lo(wide[face + k - 1], k);
        wide[face - k] = lo == lane ? v : wide[face - k];
      }
  }
}
// The 1 and 1 neighbours of a row beside a lane's cells, from the other lanes and from beyond faces.
template <bool SIDES>
__device__ __forceinline__ void widen0(const real (&row)[V], real (&wide)[1 + V + 1], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) wide[1 + k] = row[k];
#pragma unroll
  for (int k = 1; k <= 1; ++k) wide[1 - k] = from_left(row[(k + V - 1) / V * V - k], (k + V - 1) / V);
#pragma unroll
  for (int k = 1; k <= 1; ++k) wide[1 + V - 1 + k] = from_right(row[(k - 1) % V], (k + V - 1) / V);
  beyond_row0<SIDES>(wide, lo, hi);
}

// --- prelude: stores -----------------------------------------------------------------------------------------------
#ifndef SG_PRELUDE_STORE
#define SG_PRELUDE_STORE
// Stores what will not be read soon.
template <class T>
__device__ __forceinline__ void sg_store_streaming(T* to, const T& value) {
  if (sizeof(T) == 16) __stcs((uint4*)to, *(const uint4*)&value);
  else if (sizeof(T) == 8) __stcs((uint2*)to, *(const uint2*)&value);
  else *to = value;
}
#endif
// --- end of prelude ------------------------------------------------------------------------------------------------

// Rows of a lane, rows that it reads for them, and how many rows are read ahead.
constexpr int R = 1, N = 0 + R + 0, AHEAD = 10;
constexpr int BESIDE = 1, WIDE = 1 + V + 1;
// The index inside that one beyond a face follows.
__device__ __forceinline__ index_t inside_y(index_t i, index_t n) {
  if (i < 0) {
    const int k = int(-i);
    return min_of(0, k);
  }
  if (i >= n) {
    const int k = int(i - n + 1);
    return n - 1 - min_of(0, k);
  }
  return i;
}
// 1 step of 8 rows from y0 on by a warp whose columns begin at x0. All is read straight from memory, what other
// warps read as well by way of the caches.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void box_make(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t x0, bool first, bool last) {
  constexpr int TOTAL = 10;
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const index_t x = x0 + lane * V;
  // The outer lanes read what lies beside the span, unless that is beyond a face.
  const bool reads = (lane == 0 && !first) || (lane == 31 && !last);
  const index_t x_beside = lane == 0 ? x - 1 : x + V, outward = lane == 0 ? -1 : 1;
  const index_t slice = nx;
  lane_t raw[AHEAD][N];
  real beside[AHEAD][N][BESIDE];
  // Reads the row that arrives as the i-th.
  const auto read = [&](int i) {
    index_t from = y0 - 1 + i;
    if (ENDS) from = inside_y(from, ny);
#pragma unroll
    for (int r = 0; r < N; ++r) {
      const real* const row = in + from * slice;
      raw[i % AHEAD][r] = *(const lane_t*)(row + x);
      if (r >= 0 && r < 0 + R && reads) {
#pragma unroll
        for (int k = 0; k < BESIDE; ++k) beside[i % AHEAD][r][k] = row[x_beside + k * outward];
      }
    }
  };
  real sum[2][R][V] = {};
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) read(i);
#pragma unroll
  for (int turn = 0; turn < TOTAL; turn += AHEAD)
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
      const int i = turn + a;
      const index_t from = y0 - 1 + i, made_at = from - 1;
      real wide[N][WIDE];
#pragma unroll
      for (int r = 0; r < N; ++r) {
        real row[V];
#pragma unroll
        for (int k = 0; k < V; ++k) row[k] = raw[a][r].cell[k];
        if (r >= 0 && r < 0 + R) {
          widen0<false>(row, wide[r], lo, hi);
#pragma unroll
          for (int k = 1; k <= 1; ++k)
            if (lane == 0) wide[r][1 - k] = beside[a][r][k - 1];
#pragma unroll
          for (int k = 0; k < 1; ++k)
            if (lane == 31) wide[r][1 + V + k] = beside[a][r][k];
          beyond_row0<SIDES>(wide[r], lo, hi);
        } else {
#pragma unroll
          for (int k = 0; k < V; ++k) wide[r][1 + k] = row[k];
        }
      }
      if (i + AHEAD < TOTAL) read(i + AHEAD);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        real made[V];
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const auto at = [&](int dx) { return wide[0 + r][1 + k + dx]; };
          made[k] = add0<1>(sum[0][r][k], at);
          sum[0][r][k] = add0<0>(sum[1][r][k], at);
          sum[1][r][k] = add0<-1>(-0.0f, at);
        }
        if (i < 2) continue;
        real* const target = out + made_at * slice + x;
        struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
        for (int p = 0; p < 1; ++p) {
          piece_t piece;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int k = p * 4 + j;
            piece.cell[j] = made[k];
          }
          if (SIDES || ENDS) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              const int column = p * 4 + j;
              const index_t cell = made_at * slice + x + column;
              const auto keeps = [&](index_t y, index_t x) { return y < 1 || x >= nx - 1 || x < 1 - nx; };
              if (keeps(made_at, x + column)) piece.cell[j] = in[cell];  // a tap would pass a fixed face
            }
          }
          sg_store_streaming((piece_t*)target + p, piece);
        }
      }
    }
}
// 1 step: spans of columns are numbered along the warps of a block, then along blockIdx.x, then chunks.
extern "C" __global__ void __launch_bounds__(128)
box(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t) {
  constexpr int CHUNK = 8, WARPS = 4;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = (nx + SPAN - 1) / SPAN;
  const index_t across = (spans + WARPS - 1) / WARPS;
  const index_t span = blockIdx.x % across * WARPS + warp;
  if (span >= spans) return;
  // The last of each are moved inward.
  const index_t y0 = min_of(blockIdx.x / across * CHUNK, ny - CHUNK);
  const index_t x0 = min_of(span * SPAN, nx - SPAN);
  const bool first = x0 == 0, last = x0 + SPAN == nx;
  const bool sides = first || last;
  const bool ends = y0 < 1 || y0 + CHUNK + 1 > ny;
  if (sides || ends) box_make<true, true>(in, out, ny, nx, y0, x0, first, last);
  else box_make<false, false>(in, out, ny, nx, y0, x0, first, last);
}


