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
//   box: grid (ceil(ny / 16) * ceil(nx / 128), 1, 1), block (128, 1, 1), 11648 bytes of dynamic shared memory
// For grids of ny at least 16, nx at least 128 and a multiple of 4.
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

// Rows that a lane makes at a time, and rows that it reads for them.
constexpr int R = 1, N = 0 + R + 0, WIDE = 1 + V + 1;
// Warps of a block lie 1 abreast, 4 below each other. It holds a chunk of HELD rows of WIDTH cells in shared memory, READ of
// them read; before each there is room for the cells beside it and beside the one before.
constexpr int ABREAST = 1, TIERS = 4, THREADS = 32 * ABREAST * TIERS, WIDTH = ABREAST * SPAN;
constexpr int HELD = 18, READ = 18, BEFORE = 32, PITCH = BEFORE + WIDTH;
// Rows of a chunk, and of a warp.
constexpr int CHUNK = 16, MADE = 4;
// Far from any face.
constexpr int FAR = 1 << 20;
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
// 1 step of CHUNK rows from y0 on by a block whose columns begin at x0. FACES is whether it may read
// beyond faces.
template <bool FACES>
__device__ __forceinline__ void box_make(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t x0, int warp) {
  const int lane = threadIdx.x % 32, part = warp % ABREAST, tier = warp / ABREAST;
  const bool first = x0 == 0, last = x0 + WIDTH == nx;
  const int lo = first ? part * 32 + lane : FAR, hi = last ? (ABREAST - 1 - part) * 32 + 31 - lane : FAR;
  real* const held = (real*)sg_dyn_smem();
  // Where this lane's pieces of rows come from, by row: warps take turns.
  constexpr int PIECES = (READ + TIERS - 1) / TIERS;
  index_t from[PIECES];
#pragma unroll
  for (int p = 0; p < PIECES; ++p) {
    const int piece = p * (ABREAST * TIERS) + warp;
    index_t y = y0 - 1 + piece / ABREAST;
    if (FACES) y = inside_y(y, ny);
    from[p] = y * nx + x0 + piece % ABREAST * SPAN;
  }
  // The same of the cells beside rows: all threads take turns.
  constexpr int COPIES = 2.0, BESIDE = 18 * COPIES, TURNS = (BESIDE + THREADS - 1) / THREADS;
  index_t beside_from[TURNS];
  int beside_to[TURNS];
#pragma unroll
  for (int t = 0; t < TURNS; ++t) {
    const int copy = t * THREADS + threadIdx.x, cell = copy % COPIES * 4;
    const int row = 0 + copy / COPIES, column = cell < 4 ? cell - 4 : WIDTH + cell - 4;
    index_t y = y0 - 1 + row, x = x0 + column;
    beside_to[t] = row * PITCH + BEFORE + column;
    if (copy >= BESIDE || (first && column < 0) || (last && column >= WIDTH)) beside_to[t] = -1;
    if (FACES) y = inside_y(y, ny);
    beside_from[t] = y * nx + x;
  }
  // Fetches what this thread copies of the chunk.
  const auto fetch = [&]() {
    const real* const source = in;
    real* const place = held;
#pragma unroll
    for (int p = 0; p < PIECES; ++p) {
      const int piece = p * (ABREAST * TIERS) + warp;
      if (READ % TIERS == 0 || piece < READ * ABREAST) {
#pragma unroll
        for (int c = 0; c < 1; ++c) {
          const int cell = (c * 32 + lane) * 4;
          sg_cp_async<16>(place + piece / ABREAST * PITCH + BEFORE + piece % ABREAST * SPAN + cell, source + from[p] + cell);
        }
      }
    }
#pragma unroll
    for (int t = 0; t < TURNS; ++t)
      if (beside_to[t] >= 0) sg_cp_async<16>(place + beside_to[t], source + beside_from[t]);
  };
  real sum[2][R][V] = {};
  // Takes this lane's part of row `at`, whose first cell lies at `mine`: it completes row `made`, which is stored if it is one of the chunk.
  const auto arrive = [&](const real* mine, index_t at_y, bool stores) {
    const index_t made_at = at_y - 1;
    real wide[N][WIDE];
#pragma unroll
    for (int r = 0; r < N; ++r) {
      const lane_t own = *(const lane_t*)(mine + r * PITCH);
#pragma unroll
      for (int k = 0; k < V; ++k) wide[r][1 + k] = own.cell[k];
      if (true) {
#pragma unroll
        for (int b = 1; (b - 1) * V < 1; ++b) {
          const lane_t other = *(const lane_t*)(mine + r * PITCH - b * V);
#pragma unroll
          for (int k = 0; k < V; ++k)
            if (1 - b * V + k >= 0) wide[r][1 - b * V + k] = other.cell[k];
        }
#pragma unroll
        for (int b = 1; (b - 1) * V < 1; ++b) {
          const lane_t other = *(const lane_t*)(mine + r * PITCH + b * V);
#pragma unroll
          for (int k = 0; k < V; ++k)
            if (b * V + k < V + 1) wide[r][1 + b * V + k] = other.cell[k];
        }
        beyond_row0<FACES>(wide[r], lo, hi);
      }
    }
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
      if (!stores) continue;
      const index_t first_cell = made_at * nx + x0 + (part * 32 + lane) * V;
      struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
      for (int p = 0; p < 1; ++p) {
        piece_t piece;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int k = p * 4 + j;
          piece.cell[j] = made[k];
        }
        if (FACES) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int column = p * 4 + j;
            const index_t cell = first_cell + column;
            const auto keeps = [&](index_t y, index_t x) { return y < 1 || x >= nx - 1 || x < 1 - nx; };
            if (keeps(made_at, x0 + (part * 32 + lane) * V + column)) piece.cell[j] = in[cell];  // a tap would pass a fixed face
          }
        }
        sg_store_streaming((piece_t*)(out + first_cell) + p, piece);
      }
    }
  };
  const real* const mine = held + tier * MADE * PITCH + BEFORE + (part * 32 + lane) * V;
  fetch();
  sg_cp_async_commit();
  sg_cp_async_wait<0>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 1 + MADE + 1; ++i)
    arrive(mine + i * PITCH, y0 + tier * MADE - 1 + i, i >= 2);
}
// 1 step: blocks along blockIdx.x, those of a row first, then chunks.
extern "C" __global__ void __launch_bounds__(128)
box(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t) {
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t blocks = (nx + WIDTH - 1) / WIDTH;
  // The last of each are moved inward; of a row the others too, if what they read behind them would lie behind the face.
  const index_t y0 = min_of(blockIdx.x / blocks * CHUNK, ny - CHUNK), column = blockIdx.x % blocks;
  const index_t x0 = min_of(column * WIDTH, nx - WIDTH - (column == blocks - 1 ? 0 : 4));
  const bool faces = x0 == 0 || x0 + WIDTH == nx || y0 < 1 || y0 + CHUNK + 1 > ny;
  if (faces) box_make<true>(in, out, ny, nx, y0, x0, warp);
  else box_make<false>(in, out, ny, nx, y0, x0, warp);
}


