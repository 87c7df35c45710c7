// heat: 5 taps in 2D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"heat","dtype":"f32","stencil":{"preset":"heat","diffusivity":1.0,"dt":0.1,"spacing":1.0,
//   "accuracy":2},"boundary":"periodic","fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   heat: grid (ceil(ny / chunk) * ceil(ceil(nx / 112) / 4), 1, 1), block (128, 1, 1), 12288 bytes of dynamic shared memory
//   heat_few: grid (ceil(ny / chunk) * ceil(ceil(nx / 120) / 4), 1, 1), block (128, 1, 1), 12288 bytes of dynamic shared memory
//   heat_single: grid (ceil(ny / chunk) * ceil(ceil(nx / 120) / 4), 1, 1), block (128, 1, 1), 12288 bytes of dynamic shared memory
// For grids of ny at least 8, nx at least 128 and a multiple of 4.
// `chunk` is the number of rows that a block marches over, from 1 to ny.

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
constexpr real W1 = 0x1.333334p-1f;  // 0.6



// Cells of a row that a lane holds, and a warp.
constexpr int V = 4, SPAN = 128;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
// An index on an axis of n cells that closes on itself.
__device__ __forceinline__ index_t wrapped(index_t i, index_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }
struct __align__(16) lane_t { real cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// Update 1: 5 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axis.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == -1) {
    sum = fmaf(W0, at(0), sum);
  }
  if (OFFSET == 0) {
    sum = fmaf(W0, at(-1), sum);
    sum = fmaf(W1, at(0), sum);
    sum = fmaf(W0, at(1), sum);
  }
  if (OFFSET == 1) {
    sum = fmaf(W0, at(0), sum);
  }
  return sum;
}
// Cells of a row beyond the faces of the grid, from those inside; `lo` and `hi` are the numbers of lanes between this one and the
// low and the high face, if they lie in the span.
template <bool SIDES>
__device__ __forceinline__ void beyond_row0(real (&wide)[1 + V + 1], int lo, int hi) {
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


// A row, with its neighbours in `wide`, arrives at update 1: it is added to the sums of 2 rows, and completes the one
// 1 above it, which takes its place.
template <bool SIDES>
__device__ __forceinline__ void pass0(real (&sum)[2][V], real (&row)[V], const real (&wide)[1 + V + 1], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const auto at = [&](int dx) { return wide[1 + k + dx]; };
    row[k] = add0<1>(sum[0][k], at);
    sum[0][k] = add0<0>(sum[1][k], at);
    sum[1][k] = add0<-1>(-0.0f, at);
  }
}

// Stores a lane's cells at `target`, the cell `first_cell` of row `made`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void heat_store(const real* in, real* target, const real (&row)[V], index_t first_cell, index_t made, index_t ny, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}

// Stores a lane's cells at `target`, the cell `first_cell` of row `made`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void heat_few_store(const real* in, real* target, const real (&row)[V], index_t first_cell, index_t made, index_t ny, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}

// Stores a lane's cells at `target`, the cell `first_cell` of row `made`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void heat_single_store(const real* in, real* target, const real (&row)[V], index_t first_cell, index_t made, index_t ny, int lo, int hi) {
  struct __align__(16) piece_t { real cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = row[k];
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}



// Takes row y, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face, of which there is none here.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void heat_levels(real (&sum0)[8][2][V], real (&row)[V], index_t y, index_t ny, int lo, int hi) {
#pragma unroll
  for (int t = 0; t < 8; ++t) {
    {
      real wide[1 + V + 1];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(sum0[t], row, wide, lo, hi);
    }
  }
}
// 8 steps of rows y0 to y1 - 1 by a warp whose span of columns begins at x0; `sides` is whether it meets faces of x.
__device__ __forceinline__ void heat_march(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t y1, index_t x0, bool first, bool last, bool sides, lane_t* ring) {
  constexpr int RING = 6, LAG = 8;
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  // Neighbouring spans make the cells of the other lanes.
  const bool stored = (first || lane * V >= 8) && (last || lane * V < SPAN - 8);
  real sum0[8][2][V] = {};
  const index_t end = y1 + 8;
  index_t y = y0 - 8;  // the row that arrives
  // This lane's cells of a row of the grid, and of the ring.
  index_t column[1];
#pragma unroll
  for (int i = 0; i < 1; ++i) column[i] = wrapped(x0 + lane * V + i * 4, nx);
  real* const mine = ring[lane].cell;
  // Fetches this warp's part of a row, which begins at `row`, into a place of the ring.
  const auto fetch = [&](const real* row, int place) {
#pragma unroll
    for (int i = 0; i < 1; ++i) {
      const int cell = i * 4;
      sg_cp_async<16>(mine + place * SPAN + cell, row + column[i]);
    }
  };
  // The same of row y, unless no level needs it.
  const auto fetch_row = [&](index_t y, int place) {
    if (y < end) {
      y = wrapped(y, ny);
      fetch(in + y * nx, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the row that arrived first of those in the ring.
  const auto take = [&](real (&row)[V], int place) {
    sg_cp_async_wait<RING - 2>();
    const lane_t cells = ring[place * 32 + lane];
#pragma unroll
    for (int k = 0; k < V; ++k) row[k] = cells.cell[k];
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_row(y + i, i);
  // From row `steady` to row `until` - 1, whole turns of the ring, what is fetched lies in the grid.
  index_t steady = max_of(y, 1 - RING), until = end;
  until = min_of(until, ny - (RING - 1));
  steady = y + (steady - y + RING - 1) / RING * RING;
  until = until > steady ? steady + (until - steady) / RING * RING : y;
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    const index_t careful = part == 0 ? min_of(steady, end) : end;
    int place = 0, next = RING - 1;  // where row y lies, and where the next is to go
#pragma unroll 1
    for (; y < careful; ++y) {
      real row[V];
      take(row, place);
      fetch_row(y + RING - 1, next);
      next = place;
      place = place == RING - 1 ? 0 : place + 1;
      heat_levels<true, true>(sum0, row, y, ny, lo, hi);
      const index_t made = y - LAG;
      if (stored && made >= y0) heat_store<true, true>(in, out + made * nx + x0 + lane * V, row, made * nx + x0 + lane * V, made, ny, lo, hi);
    }
    if (part == 1 || y >= until) continue;
    if (sides) {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_levels<true, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_store<true, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    } else {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_levels<false, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_store<false, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    }
  }
}
// 8 steps: a warp marches over `chunk` rows of a span of columns; spans are numbered along the warps of a block, then blocks along
// blockIdx.x, then chunks.
extern "C" __global__ void __launch_bounds__(128)
heat(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t chunk) {
  constexpr int WARPS = 4, STRIDE = 112;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = (nx + STRIDE - 1) / STRIDE, across = (spans + WARPS - 1) / WARPS;
  const index_t span = blockIdx.x % across * WARPS + warp;
  if (span >= spans) return;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / across, pieces = (ny + chunk - 1) / chunk;
  const index_t y0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, y1 = min_of(y0 + chunk, ny);
  // The last span is moved inward.
  const index_t x0 = (span + 1 < spans ? span * STRIDE : nx - STRIDE) - 8;
  const bool first = false, last = false;
  const bool sides = x0 < 0 || x0 + SPAN > nx;

  lane_t* const ring = (lane_t*)sg_dyn_smem() + warp * 192;
  heat_march(in, out, ny, nx, y0, y1, x0, first, last, sides, ring);
}

// Takes row y, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face, of which there is none here.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void heat_few_levels(real (&sum0)[3][2][V], real (&row)[V], index_t y, index_t ny, int lo, int hi) {
#pragma unroll
  for (int t = 0; t < 3; ++t) {
    {
      real wide[1 + V + 1];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(sum0[t], row, wide, lo, hi);
    }
  }
}
// 3 steps of rows y0 to y1 - 1 by a warp whose span of columns begins at x0; `sides` is whether it meets faces of x.
__device__ __forceinline__ void heat_few_march(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t y1, index_t x0, bool first, bool last, bool sides, lane_t* ring) {
  constexpr int RING = 6, LAG = 3;
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  // Neighbouring spans make the cells of the other lanes.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  real sum0[3][2][V] = {};
  const index_t end = y1 + 3;
  index_t y = y0 - 3;  // the row that arrives
  // This lane's cells of a row of the grid, and of the ring.
  index_t column[1];
#pragma unroll
  for (int i = 0; i < 1; ++i) column[i] = wrapped(x0 + lane * V + i * 4, nx);
  real* const mine = ring[lane].cell;
  // Fetches this warp's part of a row, which begins at `row`, into a place of the ring.
  const auto fetch = [&](const real* row, int place) {
#pragma unroll
    for (int i = 0; i < 1; ++i) {
      const int cell = i * 4;
      sg_cp_async<16>(mine + place * SPAN + cell, row + column[i]);
    }
  };
  // The same of row y, unless no level needs it.
  const auto fetch_row = [&](index_t y, int place) {
    if (y < end) {
      y = wrapped(y, ny);
      fetch(in + y * nx, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the row that arrived first of those in the ring.
  const auto take = [&](real (&row)[V], int place) {
    sg_cp_async_wait<RING - 2>();
    const lane_t cells = ring[place * 32 + lane];
#pragma unroll
    for (int k = 0; k < V; ++k) row[k] = cells.cell[k];
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_row(y + i, i);
  // From row `steady` to row `until` - 1, whole turns of the ring, what is fetched lies in the grid.
  index_t steady = max_of(y, 1 - RING), until = end;
  until = min_of(until, ny - (RING - 1));
  steady = y + (steady - y + RING - 1) / RING * RING;
  until = until > steady ? steady + (until - steady) / RING * RING : y;
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    const index_t careful = part == 0 ? min_of(steady, end) : end;
    int place = 0, next = RING - 1;  // where row y lies, and where the next is to go
#pragma unroll 1
    for (; y < careful; ++y) {
      real row[V];
      take(row, place);
      fetch_row(y + RING - 1, next);
      next = place;
      place = place == RING - 1 ? 0 : place + 1;
      heat_few_levels<true, true>(sum0, row, y, ny, lo, hi);
      const index_t made = y - LAG;
      if (stored && made >= y0) heat_few_store<true, true>(in, out + made * nx + x0 + lane * V, row, made * nx + x0 + lane * V, made, ny, lo, hi);
    }
    if (part == 1 || y >= until) continue;
    if (sides) {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_few_levels<true, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_few_store<true, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    } else {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_few_levels<false, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_few_store<false, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    }
  }
}
// 3 steps: a warp marches over `chunk` rows of a span of columns; spans are numbered along the warps of a block, then blocks along
// blockIdx.x, then chunks.
extern "C" __global__ void __launch_bounds__(128)
heat_few(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t chunk) {
  constexpr int WARPS = 4, STRIDE = 120;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = (nx + STRIDE - 1) / STRIDE, across = (spans + WARPS - 1) / WARPS;
  const index_t span = blockIdx.x % across * WARPS + warp;
  if (span >= spans) return;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / across, pieces = (ny + chunk - 1) / chunk;
  const index_t y0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, y1 = min_of(y0 + chunk, ny);
  // The last span is moved inward.
  const index_t x0 = (span + 1 < spans ? span * STRIDE : nx - STRIDE) - 4;
  const bool first = false, last = false;
  const bool sides = x0 < 0 || x0 + SPAN > nx;

  lane_t* const ring = (lane_t*)sg_dyn_smem() + warp * 192;
  heat_few_march(in, out, ny, nx, y0, y1, x0, first, last, sides, ring);
}

// Takes row y, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face, of which there is none here.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void heat_single_levels(real (&sum0)[1][2][V], real (&row)[V], index_t y, index_t ny, int lo, int hi) {
#pragma unroll
  for (int t = 0; t < 1; ++t) {
    {
      real wide[1 + V + 1];
      widen0<SIDES>(row, wide, lo, hi);
      pass0<SIDES>(sum0[t], row, wide, lo, hi);
    }
  }
}
// 1 step of rows y0 to y1 - 1 by a warp whose span of columns begins at x0; `sides` is whether it meets faces of x.
__device__ __forceinline__ void heat_single_march(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t y1, index_t x0, bool first, bool last, bool sides, lane_t* ring) {
  constexpr int RING = 6, LAG = 1;
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  // Neighbouring spans make the cells of the other lanes.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  real sum0[1][2][V] = {};
  const index_t end = y1 + 1;
  index_t y = y0 - 1;  // the row that arrives
  // This lane's cells of a row of the grid, and of the ring.
  index_t column[1];
#pragma unroll
  for (int i = 0; i < 1; ++i) column[i] = wrapped(x0 + lane * V + i * 4, nx);
  real* const mine = ring[lane].cell;
  // Fetches this warp's part of a row, which begins at `row`, into a place of the ring.
  const auto fetch = [&](const real* row, int place) {
#pragma unroll
    for (int i = 0; i < 1; ++i) {
      const int cell = i * 4;
      sg_cp_async<16>(mine + place * SPAN + cell, row + column[i]);
    }
  };
  // The same of row y, unless no level needs it.
  const auto fetch_row = [&](index_t y, int place) {
    if (y < end) {
      y = wrapped(y, ny);
      fetch(in + y * nx, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the row that arrived first of those in the ring.
  const auto take = [&](real (&row)[V], int place) {
    sg_cp_async_wait<RING - 2>();
    const lane_t cells = ring[place * 32 + lane];
#pragma unroll
    for (int k = 0; k < V; ++k) row[k] = cells.cell[k];
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_row(y + i, i);
  // From row `steady` to row `until` - 1, whole turns of the ring, what is fetched lies in the grid.
  index_t steady = max_of(y, 1 - RING), until = end;
  until = min_of(until, ny - (RING - 1));
  steady = y + (steady - y + RING - 1) / RING * RING;
  until = until > steady ? steady + (until - steady) / RING * RING : y;
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    const index_t careful = part == 0 ? min_of(steady, end) : end;
    int place = 0, next = RING - 1;  // where row y lies, and where the next is to go
#pragma unroll 1
    for (; y < careful; ++y) {
      real row[V];
      take(row, place);
      fetch_row(y + RING - 1, next);
      next = place;
      place = place == RING - 1 ? 0 : place + 1;
      heat_single_levels<true, true>(sum0, row, y, ny, lo, hi);
      const index_t made = y - LAG;
      if (stored && made >= y0) heat_single_store<true, true>(in, out + made * nx + x0 + lane * V, row, made * nx + x0 + lane * V, made, ny, lo, hi);
    }
    if (part == 1 || y >= until) continue;
    if (sides) {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_single_levels<true, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_single_store<true, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    } else {
      const real* source = in + (y + RING - 1) * nx;
      real* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat_single_levels<false, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) heat_single_store<false, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    }
  }
}
// 1 step: a warp marches over `chunk` rows of a span of columns; spans are numbered along the warps of a block, then blocks along
// blockIdx.x, then chunks.
extern "C" __global__ void __launch_bounds__(128)
heat_single(const real* __restrict__ in, real* __restrict__ out, index_t ny, index_t nx, index_t chunk) {
  constexpr int WARPS = 4, STRIDE = 120;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = (nx + STRIDE - 1) / STRIDE, across = (spans + WARPS - 1) / WARPS;
  const index_t span = blockIdx.x % across * WARPS + warp;
  if (span >= spans) return;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / across, pieces = (ny + chunk - 1) / chunk;
  const index_t y0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, y1 = min_of(y0 + chunk, ny);
  // The last span is moved inward.
  const index_t x0 = (span + 1 < spans ? span * STRIDE : nx - STRIDE) - 4;
  const bool first = false, last = false;
  const bool sides = x0 < 0 || x0 + SPAN > nx;

  lane_t* const ring = (lane_t*)sg_dyn_smem() + warp * 192;
  heat_single_march(in, out, ny, nx, y0, y1, x0, first, last, sides, ring);
}


