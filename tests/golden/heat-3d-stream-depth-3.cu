// heat3d: 7 taps in 3D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"heat3d","dtype":"f32","stencil":{"preset":"heat","diffusivity":1.0,"dt":0.1,"spacing":1.0,
//   "accuracy":2},"boundary":[{"lo":{"dirichlet":1.0},"hi":"reflect"},"periodic","fixed"],"fast_math":false}
//
// Arrays hold nz * ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   heat3d: grid (ceil(nz / chunk) * ceil(ny / 18) * (1 + ceil((nx - 128) / 120)), 1, 1), block (256, 1, 1), 92160 bytes of dynamic shared memory
//   heat3d_single: grid (ceil(nz / chunk) * ceil(ny / 22) * (1 + ceil((nx - 128) / 120)), 1, 1), block (256, 1, 1), 55296 bytes of dynamic shared memory
// For grids of nz at least 6, ny at least 24, nx at least 128 and a multiple of 4.
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

// The value k = 1, 2, ... cells beyond the low face of z; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_z_lo(real v, int k) { return beyond(-0x1p0f, v, 0x1p1f); }

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

// Rows of a plane that a lane holds cells of.
constexpr int R = 3;
// Cells that r rows hold; unsigned, which takes fewer registers where it is added to an address.
__device__ __forceinline__ unsigned rows(int r, index_t nx) { return r * nx; }
struct __align__(16) values_t { real of[V]; };

// Whether cell k of a lane in its row r keeps its value, because a tap would pass a fixed face.
__device__ __forceinline__ bool kept0(int r, int k, int lo, int hi, int top, int bottom) { return lo * V + k < 1 || hi * V + V - 1 - k < 1; }
// A plane arrives at update 1. `wide` is the one before, with its neighbours; it is added to the sums of 2 planes, and `now`, which
// has just arrived, to the sums that it completes. What is complete becomes `made`.
template <bool SIDES, bool NOW>
__device__ __forceinline__ void pass0(real (&sum)[1][R][V], const real (&wide)[1 + R + 1][1 + V + 1], const real (&now)[R][V], real (&made)[R][V], int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dy, int dx) { return wide[1 + r + dy][1 + k + dx]; };
      const bool kept = SIDES && kept0(r, k, lo, hi, top, bottom);
      made[r][k] = kept ? at(0, 0) : add0<0>(sum[0][r][k], at);
      sum[0][r][k] = add0<-1>(-0.0f, at);
      if (NOW) made[r][k] = kept ? made[r][k] : add0<1>(made[r][k], [&](int, int) { return now[r][k]; });
    }
}
// The neighbours of this warp's rows of a plane: `above` and `below` are rows of other warps.
template <bool SIDES>
__device__ __forceinline__ void frame0(const real (&plane)[R][V], const values_t (&above)[1], const values_t (&below)[1], real (&wide)[1 + R + 1][1 + V + 1], int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int r = 0; r < R; ++r) widen0<SIDES>(plane[r], wide[1 + r], lo, hi);
#pragma unroll
  for (int r = 0; r < 1; ++r) {
#pragma unroll
    for (int k = 0; k < V; ++k) wide[r][1 + k] = above[r].of[k];
  }
#pragma unroll
  for (int r = 0; r < 1; ++r) {
#pragma unroll
    for (int k = 0; k < V; ++k) wide[1 + R + r][1 + k] = below[r].of[k];
  }
}
// The same as pass0 for plane z where the march may meet faces: planes beyond a face are added when the plane has arrived that they
// follow.
template <bool SIDES>
__device__ __forceinline__ void meet0(real (&sum)[1][R][V], const real (&wide)[1 + R + 1][1 + V + 1], const real (&now)[R][V], real (&made)[R][V], index_t z, index_t nz, int lo, int hi, int top, int bottom) {
  const index_t y = z - 1;  // the plane that is added
  if (y < 0 || y >= nz) {  // no plane
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int k = 0; k < V; ++k) {
        made[r][k] = sum[0][r][k];
#pragma unroll
        for (int s = 1; s < 1; ++s) sum[s - 1][r][k] = sum[s][r][k];
        sum[0][r][k] = -0.0f;
      }
  } else {
    if (y == 0) {  // the plane 1 below
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const auto at = [&](int dy, int dx) { return beyond_z_lo(wide[1 + r + dy][1 + k + dx], 1); };
          if (SIDES && kept0(r, k, lo, hi, top, bottom)) continue;
          sum[0][r][k] = add0<-1>(sum[0][r][k], at);
        }
    }
    pass0<SIDES, false>(sum, wide, now, made, lo, hi, top, bottom);
    if (y == nz - 1) {  // the plane 1 above
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const auto at = [&](int dy, int dx) { return wide[1 + r + dy][1 + k + dx]; };
          if (SIDES && kept0(r, k, lo, hi, top, bottom)) continue;
          made[r][k] = add0<1>(made[r][k], at);
        }
    }
  }
  if (z >= 0 && z < nz) {
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int k = 0; k < V; ++k) {
        if (SIDES && kept0(r, k, lo, hi, top, bottom)) continue;
        made[r][k] = add0<1>(made[r][k], [&](int, int) { return now[r][k]; });
      }
  }
}

// Stores a lane's cells of row r of plane `made` at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void heat3d_store(const real* in, real* target, index_t first_cell, const real (&row)[V], index_t made, index_t nz, int r, int lo, int hi, int top, int bottom) {
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
// Takes plane z, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face. Edge rows are exchanged with the warps beside this one.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void heat3d_levels(real (&plane0)[3][R][V], real (&sum0)[3][1][R][V], real (&now)[R][V], values_t* given, const values_t* taken, index_t z, index_t nz, int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int t = 0; t < 3; ++t) {
    {
      real made[R][V];
      real wide[1 + R + 1][1 + V + 1];
      const int level = (t * 1 + 0) * 9 * 2 * 32;
      // This warp's last rows are above those of the next one.
      values_t above[1];
#pragma unroll
      for (int r = 0; r < 1; ++r) {
        above[r] = taken[level + r * 32];
        values_t edge;
#pragma unroll
        for (int k = 0; k < V; ++k) edge.of[k] = now[R - 1 + r][k];
        given[level + (2 + r) * 32] = edge;
      }
      // Its first rows are below those of the one before.
      values_t below[1];
#pragma unroll
      for (int r = 0; r < 1; ++r) {
        below[r] = taken[level + (2 + 1 + r) * 32];
        values_t edge;
#pragma unroll
        for (int k = 0; k < V; ++k) edge.of[k] = now[r][k];
        given[level + (1 + r) * 32] = edge;
      }
      frame0<SIDES>(plane0[t], above, below, wide, lo, hi, top, bottom);
      if (MEETS) meet0<SIDES>(sum0[t], wide, now, made, z, nz, lo, hi, top, bottom);
      else pass0<SIDES, true>(sum0[t], wide, now, made, lo, hi, top, bottom);
      z -= 1;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          plane0[t][r][k] = now[r][k];
          now[r][k] = made[r][k];
        }
    }
  }
}
// 3 steps of planes z0 to z1 - 1 by a block whose rows begin at y0 and whose columns begin at x0; `sides` is whether
// it meets faces of either.
__device__ __forceinline__ void heat3d_march(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t z0, index_t z1, index_t y0, index_t x0, bool first, bool last, bool lowest, bool highest, bool sides) {
  constexpr int RING = 3, W = 8, LAG = 3;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  // Lanes between this one and the faces of its rows, and rows between those of this warp and the faces across them.
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const int top = lowest ? warp * R : 1024, bottom = highest ? (W - 1 - warp) * R : 1024;
  // Neighbouring blocks make the cells of the other lanes and rows.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  const int row_from = lowest ? 0 : 3 - warp * R, row_to = (highest ? W * R : W * R - 3) - warp * R;
  real plane0[3][R][V] = {};
  real sum0[3][1][R][V] = {};
  lane_t* const ring = (lane_t*)sg_dyn_smem();
  // Edge rows of the planes that levels hold, by the pairs of warps that they lie between; those of this plane and of the last.
  values_t* const edges = (values_t*)(ring + 9216 / V);
  values_t* given = edges + warp * 2 * 32 + lane;
  values_t* taken = given + 3 * (W + 1) * 2 * 32;
  const index_t area = ny * nx;
  const index_t end = z1 + 3, past = z1 + LAG;  // of what is fetched, and of what arrives
  index_t z = z0 - 3;  // the plane that arrives
  const index_t column = x0 + lane * V;
  // Where this warp's rows begin in a plane, for this lane.
  index_t line[R];
#pragma unroll
  for (int r = 0; r < R; ++r) line[r] = wrapped(y0 + warp * R + r, ny) * nx + column;
  // Fetches this warp's part of a plane, which begins at `from`, into a place of the ring.
  const auto fetch = [&](const real* from, int place) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const real* const row = from + line[r];
      real* const to = ring[((place * W + warp) * R + r) * 32].cell;
#pragma unroll
      for (int i = 0; i < 1; ++i) {
        const int cell = i * 4;
        sg_cp_async<16>(to + lane * V + cell, row + cell);
      }
    }
  };
  // The same of plane z, unless no level needs it.
  const auto fetch_plane = [&](index_t z, int place) {
    if (z < end) {
      z = z < 0 ? 0 : z >= nz ? nz - 1 : z;
      fetch(in + z * area, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the plane that arrived first of those in the ring.
  const auto take = [&](real (&now)[R][V], int place) {
    sg_cp_async_wait<RING - 2>();
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const lane_t cells = ring[((place * W + warp) * R + r) * 32 + lane];
#pragma unroll
      for (int k = 0; k < V; ++k) now[r][k] = cells.cell[k];
    }
  };
  // Edges that were given are there to be taken.
  const auto exchange = [&]() {
    __syncthreads();
    values_t* const swapped = given;
    given = taken;
    taken = swapped;
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_plane(z + i, i);
  // From plane `steady` to plane `until` - 1, whole turns of the ring, every level is away from both faces, and what is fetched lies in the grid.
  index_t steady = max_of(z, 5), until = min_of(past, nz - 3);
  until = min_of(until, nz - (RING - 1));
  steady = z + (steady - z + RING - 1) / RING * RING;
  until = until > steady ? steady + (until - steady) / RING * RING : z;
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    const index_t careful = part == 0 ? min_of(steady, past) : past;
    int place = 0, next = RING - 1;  // where plane z lies, and where the next is to go
#pragma unroll 1
    for (; z < careful; ++z) {
      real now[R][V];
      take(now, place);
      fetch_plane(z + RING - 1, next);
      next = place;
      place = place == RING - 1 ? 0 : place + 1;
      heat3d_levels<true, true>(plane0, sum0, now, given, taken, z, nz, lo, hi, top, bottom);
      const index_t made = z - LAG;
      const index_t target = made * area + (y0 + warp * R) * nx + x0 + lane * V;
      if (stored && made >= z0) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          if (r >= row_from && r < row_to) heat3d_store<true, true>(in, out + target + r * nx, target + r * nx, now[r], made, nz, r, lo, hi, top, bottom);
      }
      exchange();
    }
    if (part == 1 || z >= until) continue;
    if (sides) {
      const real* source = in + (z + RING - 1) * area;
      real* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
#pragma unroll 1
      for (; z < until; z += RING) {
        // How many planes arrive before one of this chunk is complete, and before the last that is needed is fetched.
        const index_t unmade = z0 + LAG - z, needed = end - (RING - 1) - z;
#pragma unroll 3
        for (int i = 0; i < RING; ++i) {
          real now[R][V];
          take(now, i);
          if (i < needed) fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat3d_levels<true, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) heat3d_store<true, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    } else {
      const real* source = in + (z + RING - 1) * area;
      real* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
#pragma unroll 1
      for (; z < until; z += RING) {
        // How many planes arrive before one of this chunk is complete, and before the last that is needed is fetched.
        const index_t unmade = z0 + LAG - z, needed = end - (RING - 1) - z;
#pragma unroll 3
        for (int i = 0; i < RING; ++i) {
          real now[R][V];
          take(now, i);
          if (i < needed) fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat3d_levels<false, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) heat3d_store<false, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    }
  }
}
// 3 steps: a block marches over `chunk` planes, with a span of columns and 8 x 3 rows; blocks are numbered along blockIdx.x, columns
// first, then rows, then chunks.
extern "C" __global__ void __launch_bounds__(256)
heat3d(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t chunk) {
  constexpr int ROWS = 8 * R;
  const index_t spans = 1 + (nx - SPAN + 119) / 120;
  const index_t bands = (ny + 17) / 18;
  const index_t span = blockIdx.x % spans, band = blockIdx.x / spans % bands;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / spans / bands, pieces = (nz + chunk - 1) / chunk;
  const index_t z0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, z1 = min_of(z0 + chunk, nz);
  // The last span and band are moved inward, to end at a face.
  const index_t x0 = span + 1 < spans ? span * 120 : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const index_t y0 = (band + 1 < bands ? band * 18 : ny - 18) - 3;
  const bool lowest = false, highest = false;
  const bool sides = first || last || lowest || highest;
  heat3d_march(in, out, nz, ny, nx, z0, z1, y0, x0, first, last, lowest, highest, sides);
}

// Stores a lane's cells of row r of plane `made` at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void heat3d_single_store(const real* in, real* target, index_t first_cell, const real (&row)[V], index_t made, index_t nz, int r, int lo, int hi, int top, int bottom) {
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
// Takes plane z, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face. Edge rows are exchanged with the warps beside this one.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void heat3d_single_levels(real (&plane0)[1][R][V], real (&sum0)[1][1][R][V], real (&now)[R][V], values_t* given, const values_t* taken, index_t z, index_t nz, int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int t = 0; t < 1; ++t) {
    {
      real made[R][V];
      real wide[1 + R + 1][1 + V + 1];
      const int level = (t * 1 + 0) * 9 * 2 * 32;
      // This warp's last rows are above those of the next one.
      values_t above[1];
#pragma unroll
      for (int r = 0; r < 1; ++r) {
        above[r] = taken[level + r * 32];
        values_t edge;
#pragma unroll
        for (int k = 0; k < V; ++k) edge.of[k] = now[R - 1 + r][k];
        given[level + (2 + r) * 32] = edge;
      }
      // Its first rows are below those of the one before.
      values_t below[1];
#pragma unroll
      for (int r = 0; r < 1; ++r) {
        below[r] = taken[level + (2 + 1 + r) * 32];
        values_t edge;
#pragma unroll
        for (int k = 0; k < V; ++k) edge.of[k] = now[r][k];
        given[level + (1 + r) * 32] = edge;
      }
      frame0<SIDES>(plane0[t], above, below, wide, lo, hi, top, bottom);
      if (MEETS) meet0<SIDES>(sum0[t], wide, now, made, z, nz, lo, hi, top, bottom);
      else pass0<SIDES, true>(sum0[t], wide, now, made, lo, hi, top, bottom);
      z -= 1;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          plane0[t][r][k] = now[r][k];
          now[r][k] = made[r][k];
        }
    }
  }
}
// 1 step of planes z0 to z1 - 1 by a block whose rows begin at y0 and whose columns begin at x0; `sides` is whether
// it meets faces of either.
__device__ __forceinline__ void heat3d_single_march(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t z0, index_t z1, index_t y0, index_t x0, bool first, bool last, bool lowest, bool highest, bool sides) {
  constexpr int RING = 3, W = 8, LAG = 1;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  // Lanes between this one and the faces of its rows, and rows between those of this warp and the faces across them.
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const int top = lowest ? warp * R : 1024, bottom = highest ? (W - 1 - warp) * R : 1024;
  // Neighbouring blocks make the cells of the other lanes and rows.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  const int row_from = lowest ? 0 : 1 - warp * R, row_to = (highest ? W * R : W * R - 1) - warp * R;
  real plane0[1][R][V] = {};
  real sum0[1][1][R][V] = {};
  lane_t* const ring = (lane_t*)sg_dyn_smem();
  // Edge rows of the planes that levels hold, by the pairs of warps that they lie between; those of this plane and of the last.
  values_t* const edges = (values_t*)(ring + 9216 / V);
  values_t* given = edges + warp * 2 * 32 + lane;
  values_t* taken = given + 1 * (W + 1) * 2 * 32;
  const index_t area = ny * nx;
  const index_t end = z1 + 1, past = z1 + LAG;  // of what is fetched, and of what arrives
  index_t z = z0 - 1;  // the plane that arrives
  const index_t column = x0 + lane * V;
  // Where this warp's rows begin in a plane, for this lane.
  index_t line[R];
#pragma unroll
  for (int r = 0; r < R; ++r) line[r] = wrapped(y0 + warp * R + r, ny) * nx + column;
  // Fetches this warp's part of a plane, which begins at `from`, into a place of the ring.
  const auto fetch = [&](const real* from, int place) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const real* const row = from + line[r];
      real* const to = ring[((place * W + warp) * R + r) * 32].cell;
#pragma unroll
      for (int i = 0; i < 1; ++i) {
        const int cell = i * 4;
        sg_cp_async<16>(to + lane * V + cell, row + cell);
      }
    }
  };
  // The same of plane z, unless no level needs it.
  const auto fetch_plane = [&](index_t z, int place) {
    if (z < end) {
      z = z < 0 ? 0 : z >= nz ? nz - 1 : z;
      fetch(in + z * area, place);
    }
    sg_cp_async_commit();
  };
  // Takes what this lane holds of the plane that arrived first of those in the ring.
  const auto take = [&](real (&now)[R][V], int place) {
    sg_cp_async_wait<RING - 2>();
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const lane_t cells = ring[((place * W + warp) * R + r) * 32 + lane];
#pragma unroll
      for (int k = 0; k < V; ++k) now[r][k] = cells.cell[k];
    }
  };
  // Edges that were given are there to be taken.
  const auto exchange = [&]() {
    __syncthreads();
    values_t* const swapped = given;
    given = taken;
    taken = swapped;
  };
#pragma unroll
  for (int i = 0; i < RING - 1; ++i) fetch_plane(z + i, i);
  // From plane `steady` to plane `until` - 1, whole turns of the ring, every level is away from both faces, and what is fetched lies in the grid.
  index_t steady = max_of(z, 3), until = min_of(past, nz - 3);
  until = min_of(until, nz - (RING - 1));
  steady = z + (steady - z + RING - 1) / RING * RING;
  until = until > steady ? steady + (until - steady) / RING * RING : z;
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    const index_t careful = part == 0 ? min_of(steady, past) : past;
    int place = 0, next = RING - 1;  // where plane z lies, and where the next is to go
#pragma unroll 1
    for (; z < careful; ++z) {
      real now[R][V];
      take(now, place);
      fetch_plane(z + RING - 1, next);
      next = place;
      place = place == RING - 1 ? 0 : place + 1;
      heat3d_single_levels<true, true>(plane0, sum0, now, given, taken, z, nz, lo, hi, top, bottom);
      const index_t made = z - LAG;
      const index_t target = made * area + (y0 + warp * R) * nx + x0 + lane * V;
      if (stored && made >= z0) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          if (r >= row_from && r < row_to) heat3d_single_store<true, true>(in, out + target + r * nx, target + r * nx, now[r], made, nz, r, lo, hi, top, bottom);
      }
      exchange();
    }
    if (part == 1 || z >= until) continue;
    if (sides) {
      const real* source = in + (z + RING - 1) * area;
      real* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
#pragma unroll 1
      for (; z < until; z += RING) {
        // How many planes arrive before one of this chunk is complete, and before the last that is needed is fetched.
        const index_t unmade = z0 + LAG - z, needed = end - (RING - 1) - z;
#pragma unroll 3
        for (int i = 0; i < RING; ++i) {
          real now[R][V];
          take(now, i);
          if (i < needed) fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat3d_single_levels<true, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) heat3d_single_store<true, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    } else {
      const real* source = in + (z + RING - 1) * area;
      real* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
#pragma unroll 1
      for (; z < until; z += RING) {
        // How many planes arrive before one of this chunk is complete, and before the last that is needed is fetched.
        const index_t unmade = z0 + LAG - z, needed = end - (RING - 1) - z;
#pragma unroll 3
        for (int i = 0; i < RING; ++i) {
          real now[R][V];
          take(now, i);
          if (i < needed) fetch(source, i == 0 ? RING - 1 : i - 1);
          sg_cp_async_commit();
          heat3d_single_levels<false, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) heat3d_single_store<false, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    }
  }
}
// 1 step: a block marches over `chunk` planes, with a span of columns and 8 x 3 rows; blocks are numbered along blockIdx.x, columns
// first, then rows, then chunks.
extern "C" __global__ void __launch_bounds__(256)
heat3d_single(const real* __restrict__ in, real* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t chunk) {
  constexpr int ROWS = 8 * R;
  const index_t spans = 1 + (nx - SPAN + 119) / 120;
  const index_t bands = (ny + 21) / 22;
  const index_t span = blockIdx.x % spans, band = blockIdx.x / spans % bands;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / spans / bands, pieces = (nz + chunk - 1) / chunk;
  const index_t z0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, z1 = min_of(z0 + chunk, nz);
  // The last span and band are moved inward, to end at a face.
  const index_t x0 = span + 1 < spans ? span * 120 : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const index_t y0 = (band + 1 < bands ? band * 22 : ny - 22) - 1;
  const bool lowest = false, highest = false;
  const bool sides = first || last || lowest || highest;
  heat3d_single_march(in, out, nz, ny, nx, z0, z1, y0, x0, first, last, lowest, highest, sides);
}


