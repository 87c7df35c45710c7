// blur: 18 taps in 2D, u8; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"blur","dtype":"u8","stencil":{"preset":"gaussian","sigma":1.0,"truncate":4.0},"boundary":"reflect",
//   "fast_math":false}
//
// Arrays hold ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   blur: grid (ceil(ny / chunk) * ceil((1 + ceil((nx - 128) / 120)) / 4), 1, 1), block (128, 1, 1), 3072 bytes of dynamic shared memory
// For grids of ny at least 18, nx at least 128 and a multiple of 4.
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

// cell_t: u8.
typedef unsigned char cell_t;
__device__ __forceinline__ real load(cell_t v) { return real(v); }
__device__ __forceinline__ cell_t store(real v) {
  v = rintf(v);  // half to even
  return v >= 0x1.fep7f ? cell_t(0x1.fep7f) : v > 0.0f ? cell_t(v) : v <= 0.0f ? cell_t(0.0f) : cell_t(0);  // NaN gives 0
}

// Weights, each number once; hexadecimal, so that they are exactly these numbers.
constexpr real W0 = 0x1.18a9c4p-13f;  // 0.00013383062
constexpr real W1 = 0x1.22724cp-8f;  // 0.0044318615
constexpr real W2 = 0x1.ba4b9ap-5f;  // 0.053991128
constexpr real W3 = 0x1.ef8ebap-3f;  // 0.24197145
constexpr real W4 = 0x1.9884a4p-2f;  // 0.39894348



// Cells of a row that a lane holds, and a warp.
constexpr int V = 4, SPAN = 128;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
struct __align__(4) lane_t { cell_t cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// Update 1: 9 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axis.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == -4) {
    sum = fmaf(W0, at(0), sum);
  }
  if (OFFSET == -3) {
    sum = fmaf(W1, at(0), sum);
  }
  if (OFFSET == -2) {
    sum = fmaf(W2, at(0), sum);
  }
  if (OFFSET == -1) {
    sum = fmaf(W3, at(0), sum);
  }
  if (OFFSET == 0) {
    sum = fmaf(W4, at(0), sum);
  }
  if (OFFSET == 1) {
    sum = fmaf(W3, at(0), sum);
  }
  if (OFFSET == 2) {
    sum = fmaf(W2, at(0), sum);
  }
  if (OFFSET == 3) {
    sum = fmaf(W1, at(0), sum);
  }
  if (OFFSET == 4) {
    sum = fmaf(W0, at(0), sum);
  }
  return sum;
}
// Cells of a row beyond the faces of the grid, from those inside; `lo` and `hi` are the numbers of lanes between this one and the
// low and the high face, if they lie in the span.
template <bool SIDES>
__device__ __forceinline__ void beyond_row0(real (&wide)[0 + V + 0], int lo, int hi) {
}
// The cells of a row beside a lane's cells, from the other lanes and from beyond faces.
template <bool SIDES>
__device__ __forceinline__ void widen0(const real (&row)[V], real (&wide)[0 + V + 0], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) wide[0 + k] = row[k];
  beyond_row0<SIDES>(wide, lo, hi);
}

// Update 2: 9 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axis.
template <int OFFSET, class At>
__device__ __forceinline__ real add1(real sum, At at) {
  if (OFFSET == 0) {
    sum = fmaf(W0, at(-4), sum);
    sum = fmaf(W1, at(-3), sum);
    sum = fmaf(W2, at(-2), sum);
    sum = fmaf(W3, at(-1), sum);
    sum = fmaf(W4, at(0), sum);
    sum = fmaf(W3, at(1), sum);
    sum = fmaf(W2, at(2), sum);
    sum = fmaf(W1, at(3), sum);
    sum = fmaf(W0, at(4), sum);
  }
  return sum;
}
// Cells of a row beyond the faces of the grid, from those inside; `lo` and `hi` are the numbers of lanes between this one and the
// low and the high face, if they lie in the span.
template <bool SIDES>
__device__ __forceinline__ void beyond_row1(real (&wide)[4 + V + 4], int lo, int hi) {
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 4; ++lane)
#pragma unroll
      for (int k = 1; k <= 4 - lane * V; ++k) {
        const int face = 4 - lane * V;
        const real v = wide[face + k - 1];
        wide[face - k] = lo == lane ? v : wide[face - k];
      }
  }
  if (SIDES) {
#pragma unroll
    for (int lane = 0; lane * V < 4; ++lane)
#pragma unroll
      for (int k = 1; k <= 4 - lane * V; ++k) {
        const int face = 4 + V - 1 + lane * V;
        const real v = wide[face - (k - 1)];
        wide[face + k] = hi == lane ? v : wide[face + k];
      }
  }
}
// The 4 and 4 neighbours of a row beside a lane's cells, from the other lanes and from beyond faces.
template <bool SIDES>
__device__ __forceinline__ void widen1(const real (&row)[V], real (&wide)[4 + V + 4], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) wide[4 + k] = row[k];
#pragma unroll
  for (int k = 1; k <= 4; ++k) wide[4 - k] = from_left(row[(k + V - 1) / V * V - k], (k + V - 1) / V);
#pragma unroll
  for (int k = 1; k <= 4; ++k) wide[4 + V - 1 + k] = from_right(row[(k - 1) % V], (k + V - 1) / V);
  beyond_row1<SIDES>(wide, lo, hi);
}


// A row, with its neighbours in `wide`, arrives at update 1: it is added to the sums of 8 rows, and completes the one
// 4 above it, which takes its place.
template <bool SIDES>
__device__ __forceinline__ void pass0(real (&sum)[8][V], real (&row)[V], const real (&wide)[0 + V + 0], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const auto at = [&](int dx) { return wide[0 + k + dx]; };
    row[k] = add0<4>(sum[0][k], at);
    sum[0][k] = add0<3>(sum[1][k], at);
    sum[1][k] = add0<2>(sum[2][k], at);
    sum[2][k] = add0<1>(sum[3][k], at);
    sum[3][k] = add0<0>(sum[4][k], at);
    sum[4][k] = add0<-1>(sum[5][k], at);
    sum[5][k] = add0<-2>(sum[6][k], at);
    sum[6][k] = add0<-3>(sum[7][k], at);
    sum[7][k] = add0<-4>(-0.0f, at);
  }
}

// A row, with its neighbours in `wide`, arrives at update 2.
template <bool SIDES>
__device__ __forceinline__ void pass1(real (&row)[V], const real (&wide)[4 + V + 4], int lo, int hi) {
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const auto at = [&](int dx) { return wide[4 + k + dx]; };
    row[k] = add1<0>(-0.0f, at);
  }
}

// Stores a lane's cells at `target`, the cell `first_cell` of row `made`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void blur_store(const cell_t* in, cell_t* target, const real (&row)[V], index_t first_cell, index_t made, index_t ny, int lo, int hi) {
  struct __align__(4) piece_t { cell_t cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      piece.cell[j] = store(row[k]);
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}


// The same as pass0 for row y where the march may meet faces: rows beyond a face are added when the row arrives that they follow.
template <bool SIDES>
__device__ __forceinline__ void meet0(real (&sum)[8][V], real (&row)[V], const real (&wide)[0 + V + 0], index_t y, index_t ny, int lo, int hi) {
  if (y < 0 || y >= ny) {  // no row
#pragma unroll
    for (int k = 0; k < V; ++k) {
      row[k] = sum[0][k];
#pragma unroll
      for (int s = 1; s < 8; ++s) sum[s - 1][k] = sum[s][k];
      sum[7][k] = -0.0f;
    }
    return;
  }
  if (y == 3) {  // the row 4 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[1][k] = add0<-4>(sum[1][k], at);
    }
  }
  if (y == 2) {  // the row 3 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[2][k] = add0<-3>(sum[2][k], at);
      sum[3][k] = add0<-4>(sum[3][k], at);
    }
  }
  if (y == 1) {  // the row 2 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[3][k] = add0<-2>(sum[3][k], at);
      sum[4][k] = add0<-3>(sum[4][k], at);
      sum[5][k] = add0<-4>(sum[5][k], at);
    }
  }
  if (y == 0) {  // the row 1 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[4][k] = add0<-1>(sum[4][k], at);
      sum[5][k] = add0<-2>(sum[5][k], at);
      sum[6][k] = add0<-3>(sum[6][k], at);
      sum[7][k] = add0<-4>(sum[7][k], at);
    }
  }
  pass0<SIDES>(sum, row, wide, lo, hi);
  if (y == ny - 1) {  // the row 1 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[0][k] = add0<4>(sum[0][k], at);
      sum[1][k] = add0<3>(sum[1][k], at);
      sum[2][k] = add0<2>(sum[2][k], at);
      sum[3][k] = add0<1>(sum[3][k], at);
    }
  }
  if (y == ny - 2) {  // the row 2 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[2][k] = add0<4>(sum[2][k], at);
      sum[3][k] = add0<3>(sum[3][k], at);
      sum[4][k] = add0<2>(sum[4][k], at);
    }
  }
  if (y == ny - 3) {  // the row 3 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[4][k] = add0<4>(sum[4][k], at);
      sum[5][k] = add0<3>(sum[5][k], at);
    }
  }
  if (y == ny - 4) {  // the row 4 beyond
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dx) { return wide[0 + k + dx]; };
      sum[6][k] = add0<4>(sum[6][k], at);
    }
  }
}


// Takes row y, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void blur_levels(real (&sum0)[1][8][V], real (&row)[V], index_t y, index_t ny, int lo, int hi) {
#pragma unroll
  for (int t = 0; t < 1; ++t) {
    {
      real wide[0 + V + 0];
      widen0<SIDES>(row, wide, lo, hi);
      if (MEETS) meet0<SIDES>(sum0[t], row, wide, y, ny, lo, hi);
      else pass0<SIDES>(sum0[t], row, wide, lo, hi);
      y -= 4;
    }
    {
      real wide[4 + V + 4];
      widen1<SIDES>(row, wide, lo, hi);
      pass1<SIDES>(row, wide, lo, hi);
    }
  }
}
// pass 1 of 2 of a step of rows y0 to y1 - 1 by a warp whose span of columns begins at x0; `sides` is whether it meets faces of x.
__device__ __forceinline__ void blur_march(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx, index_t y0, index_t y1, index_t x0, bool first, bool last, bool sides, lane_t* ring) {
  constexpr int RING = 6, LAG = 4;
  const int lane = threadIdx.x % 32;
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  // Neighbouring spans make the cells of the other lanes.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  real sum0[1][8][V] = {};
  const index_t end = y1 + 4;
  index_t y = y0 - 4;  // the row that arrives
  // This lane's cells of a row of the grid, and of the ring.
  const index_t column = x0 + lane * V;
  cell_t* const mine = ring[lane].cell;
  // Fetches this warp's part of a row, which begins at `row`, into a place of the ring.
  const auto fetch = [&](const cell_t* row, int place) {
#pragma unroll
    for (int i = 0; i < 1; ++i) {
      const int cell = i * 4;
      sg_cp_async<4>(mine + place * SPAN + cell, row + column + cell);
    }
  };
  // The same of row y, unless no level needs it.
  const auto fetch_row = [&](index_t y, int place) {
    if (y < end) {
      y = y < 0 ? 0 : y >= ny ? ny - 1 : y;
      fetch(in + y * nx, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the row that arrived first of those in the ring.
  const auto take = [&](real (&row)[V], int place) {
    sg_cp_async_wait<RING - 2>();
    const lane_t cells = ring[place * 32 + lane];
#pragma unroll
    for (int k = 0; k < V; ++k) row[k] = load(cells.cell[k]);
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_row(y + i, i);
  // From row `steady` to row `until` - 1, whole turns of the ring, every level is away from both faces, and what is fetched lies in the grid.
  index_t steady = max_of(y, 13), until = min_of(end, ny - 9);
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
      blur_levels<true, true>(sum0, row, y, ny, lo, hi);
      const index_t made = y - LAG;
      if (stored && made >= y0) blur_store<true, true>(in, out + made * nx + x0 + lane * V, row, made * nx + x0 + lane * V, made, ny, lo, hi);
    }
    if (part == 1 || y >= until) continue;
    if (sides) {
      const cell_t* source = in + (y + RING - 1) * nx;
      cell_t* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          blur_levels<true, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) blur_store<true, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    } else {
      const cell_t* source = in + (y + RING - 1) * nx;
      cell_t* target = out + (y - LAG) * nx + x0 + lane * V;
#pragma unroll 1
      for (; y < until; y += RING) {
        const index_t unmade = y0 + LAG - y;  // rows that arrive before one of this chunk is complete
#pragma unroll 6
        for (int i = 0; i < RING; ++i) {
          real row[V];
          take(row, i);
          fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          blur_levels<false, false>(sum0, row, 0, ny, lo, hi);
          if (stored && i >= unmade) blur_store<false, false>(in, target, row, (y + i - LAG) * nx + x0 + lane * V, y + i - LAG, ny, lo, hi);
          source += nx;
          target += nx;
        }
      }
    }
  }
}
// pass 1 of 2 of a step: a warp marches over `chunk` rows of a span of columns; spans are numbered along the warps of a block, then blocks along
// blockIdx.x, then chunks.
extern "C" __global__ void __launch_bounds__(128)
blur(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t ny, index_t nx, index_t chunk) {
  constexpr int WARPS = 4, STRIDE = 120;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  const index_t spans = 1 + (nx - SPAN + STRIDE - 1) / STRIDE, across = (spans + WARPS - 1) / WARPS;
  const index_t span = blockIdx.x % across * WARPS + warp;
  if (span >= spans) return;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / across, pieces = (ny + chunk - 1) / chunk;
  const index_t y0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, y1 = min_of(y0 + chunk, ny);
  // The last span is moved inward, and ends at the face.
  const index_t x0 = span + 1 < spans ? span * STRIDE : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const bool sides = first || last;

  lane_t* const ring = (lane_t*)sg_dyn_smem() + warp * 192;
  blur_march(in, out, ny, nx, y0, y1, x0, first, last, sides, ring);
}


