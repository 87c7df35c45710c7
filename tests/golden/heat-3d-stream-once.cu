// heat3d: 7 taps in 3D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"heat3d","dtype":"f32","stencil":{"preset":"heat","diffusivity":1.0,"dt":0.1,"spacing":1.0,
//   "accuracy":2},"boundary":["periodic",{"lo":{"dirichlet":1.0},"hi":"replicate"},"mirror"],"fast_math":false}
//
// Arrays hold nz * ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   heat3d: grid (ceil(nz / chunk) * ceil(ny / 8) * ceil(nx / 128), 1, 1), block (128, 1, 1), 19328 bytes of dynamic shared memory
// For grids of nz at least 2, ny at least 8, nx at least 128 and a multiple of 4.
// `chunk` is the number of planes that a block marches over, from 1 to nz.

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
constexpr real W0 = 0x1.99999ap-4f;  // 0.1
constexpr real W1 = 0x1.99999ap-2f;  // 0.4


// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// Cells of a row that a lane holds, and a warp.
constexpr int V = 4, SPAN = 128;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
// An index on an axis of n cells that closes on itself.
__device__ __forceinline__ index_t wrapped(index_t i, index_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }
struct __align__(16) lane_t { real cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// The value k = 1, 2, ... cells beyond the low face of y; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_y_lo(real v, int k) { return beyond(-0x1p0f, v, 0x1p1f); }

// Update 1: 7 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axes.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == -1) {
    sum = fmaf(W0, at(0, 0), sum);
  }
  if (OFFSET == 0) {
    sum = fmaf(W0, at(-1, 0), sum);
    sum = fmaf(W0, at(0, -1), sum);
    sum = fmaf(W1, at(0, 0), sum);
    sum = fmaf(W0, at(0, 1), sum);
    sum = fmaf(W0, at(1, 0), sum);
  }
  if (OFFSET == 1) {
    sum = fmaf(W0, at(0, 0), sum);
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
        const real v = wide[face + k];
        wide[face - k] = lo == lane ? v : wide[face - k];
      }
  }
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 1; ++lane)
#pragma unroll
      for (int k = 1; k <= 1 - lane * V; ++k) {
        const int face = 1 + V - 1 + lane * V;
        const real v = wide[face - (k)];
        wide[face + k] = hi == lane ? v : wide[face + k];
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
constexpr int R = 2, N = 1 + R + 1, WIDE = 1 + V + 1;
// Warps of a block lie 1 abreast, 4 below each other. It holds 3 planes of HELD rows of WIDTH cells in shared memory, READ of
// them read; before each there is room for the cells beside it and beside the one before.
constexpr int ABREAST = 1, TIERS = 4, THREADS = 32 * ABREAST * TIERS, WIDTH = ABREAST * SPAN;
constexpr int HELD = 10, READ = 10, BEFORE = 32, PITCH = BEFORE + WIDTH;
// Far from any face.
constexpr int FAR = 1 << 20;
// The index inside that one beyond a face follows.
__device__ __forceinline__ index_t inside_y(index_t i, index_t n) {
  if (i < 0) {
    const int k = int(-i);
    return min_of(k - 1, k);
  }
  if (i >= n) {
    const int k = int(i - n + 1);
    return n - 1 - min_of(0, k);
  }
  return i;
}
__device__ __forceinline__ index_t inside_z(index_t i, index_t n) {
  return wrapped(i, n);
}
// 1 step of `chunk` planes from z0 on by a block whose rows begin at y0 and whose columns begin at x0. FACES is whether it may read
// beyond faces.
template <bool FACES>
__device__ __forceinline__ void heat3d_make(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t z0, index_t y0, index_t x0, index_t chunk, int warp) {
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
  constexpr int COPIES = 2.0, BESIDE = 8 * COPIES, TURNS = (BESIDE + THREADS - 1) / THREADS;
  index_t beside_from[TURNS];
  int beside_to[TURNS];
#pragma unroll
  for (int t = 0; t < TURNS; ++t) {
    const int copy = t * THREADS + threadIdx.x, cell = copy % COPIES * 4;
    const int row = 1 + copy / COPIES, column = cell < 4 ? cell - 4 : WIDTH + cell - 4;
    index_t y = y0 - 1 + row, x = x0 + column;
    beside_to[t] = row * PITCH + BEFORE + column;
    if (copy >= BESIDE || (first && column < 0) || (last && column >= WIDTH)) beside_to[t] = -1;
    if (FACES) y = inside_y(y, ny);
    beside_from[t] = y * nx + x;
  }
  // Fetches what this thread copies of the plane that begins at `source`, to `place`.
  const auto fetch = [&](const real* source, real* place) {
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
  // Takes this lane's part of plane `at`, whose first cell lies at `mine`: it completes plane `made`, which is stored if it is one of the chunk.
  const auto arrive = [&](const real* mine, index_t at_z, bool stores) {
    const index_t made_at = at_z - 1;
    real wide[N][WIDE];
#pragma unroll
    for (int r = 0; r < N; ++r) {
      const lane_t own = *(const lane_t*)(mine + r * PITCH);
#pragma unroll
      for (int k = 0; k < V; ++k) wide[r][1 + k] = own.cell[k];
      if (r >= 1 && r < 1 + R) {
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
    if (FACES) {
#pragma unroll
      for (int r = 0; r < N; ++r) {
        const index_t at = y0 + tier * R - 1 + r;
#pragma unroll
        for (int j = 0; j < WIDE; ++j) {
          if (at < 0) wide[r][j] = beyond_y_lo(wide[r][j], int(-at));
        }
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      real made[V];
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const auto at = [&](int dy, int dx) { return wide[1 + r + dy][1 + k + dx]; };
        made[k] = add0<1>(sum[0][r][k], at);
        sum[0][r][k] = add0<0>(sum[1][r][k], at);
        sum[1][r][k] = add0<-1>(-0.0f, at);
      }
      if (!stores) continue;
      const index_t first_cell = (made_at * ny + y0 + tier * R + r) * nx + x0 + (part * 32 + lane) * V;
      struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
      for (int p = 0; p < 1; ++p) {
        piece_t piece;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int k = p * 4 + j;
          piece.cell[j] = made[k];
        }
        sg_store_streaming((piece_t*)(out + first_cell) + p, piece);
      }
    }
  };
  const real* const mine = held + tier * R * PITCH + BEFORE + (part * 32 + lane) * V;
  // Planes that arrive, the ring of those in shared memory, and the cells of each.
  constexpr int RING = 3, PLANE = HELD * PITCH;
  const index_t total = chunk + 2, before = z0 - 1;
  const auto fetch_plane = [&](index_t i, int place) {
    if (i < total) {
      index_t z = before + i;
      if (FACES) z = inside_z(z, nz);
      fetch(in + z * (ny * nx), held + place * PLANE);
    }
    sg_cp_async_commit();
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_plane(i, i);
  int place = 0, next = RING - 1;  // where plane i lies, and where the next is to go
#pragma unroll 1
  for (index_t i = 0; i < total; ++i) {
    sg_cp_async_wait<RING - 2>();
    __syncthreads();
    fetch_plane(i + RING - 1, next);
    arrive(mine + place * PLANE, before + i, i >= 2);
    next = place;
    place = place == RING - 1 ? 0 : place + 1;
  }
}
// 1 step: blocks along blockIdx.x, those of a row first, then bands of rows, then chunks, then strips of bands.
extern "C" __global__ void __launch_bounds__(128)
heat3d(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t chunk) {
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t blocks = (nx + WIDTH - 1) / WIDTH;
  // The last of each are moved inward; of a row the others too, if what they read behind them would lie behind the face.
  // A device holds so many blocks at a time: as many make a strip, so that the next chunk follows while the planes that both
  // read lie in the second-level cache.
  constexpr index_t TOGETHER = 1056, ROWS = TIERS * R;
  const index_t bands = (ny + ROWS - 1) / ROWS, chunks = (nz + chunk - 1) / chunk;
  const index_t strip = min_of(max_of(TOGETHER / blocks, 1), bands), of_strip = blockIdx.x / (strip * blocks * chunks);
  const index_t in_strip = blockIdx.x - of_strip * (strip * blocks * chunks), row = in_strip / blocks;
  const index_t strip_bands = min_of(strip, bands - of_strip * strip);
  const index_t y0 = min_of((of_strip * strip + row % strip_bands) * ROWS, ny - ROWS), z0 = min_of(row / strip_bands * chunk, nz - chunk);
  const index_t column = in_strip % blocks;
  const index_t x0 = min_of(column * WIDTH, nx - WIDTH - (column == blocks - 1 ? 0 : 4));
  const bool faces = x0 == 0 || x0 + WIDTH == nx || y0 < 1 || y0 + ROWS + 1 > ny || z0 < 1 || z0 + chunk + 1 > nz;
  if (faces) heat3d_make<true>(in, out, nz, ny, nx, z0, y0, x0, chunk, warp);
  else heat3d_make<false>(in, out, nz, ny, nx, z0, y0, x0, chunk, warp);
}


