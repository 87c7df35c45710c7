// box3d: 27 taps in 3D, f16; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments, and weights, which are set at run time:
//   {"name":"box3d","dtype":"f16","boundary":[{"lo":"fixed","hi":"mirror"},{"lo":"fixed","hi":"zero"},
//   {"lo":"fixed","hi":{"constant":2.0}}],"fast_math":false,"weights_at_run_time":true}
//
// Arrays hold nz * ny * nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   box3d: grid (ceil(nz / chunk) * (1 + ceil((ny - 8) / 4)) * (1 + ceil((nx - 128) / 120)), 1, 1), block (128, 1, 1), 26624 bytes of dynamic shared memory
//   box3d_single: grid (ceil(nz / chunk) * (1 + ceil((ny - 8) / 6)) * (1 + ceil((nx - 128) / 120)), 1, 1), block (128, 1, 1), 16384 bytes of dynamic shared memory
// For grids of nz at least 6, ny at least 8, nx at least 128 and a multiple of 4.
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

// --- prelude, halves: numbers of 16 bits, as they are stored --------------------------------------------------------
#ifndef SG_PRELUDE_HALF
#define SG_PRELUDE_HALF
struct sg_half { unsigned short bits; };      // binary16
struct sg_bfloat16 { unsigned short bits; };  // the upper half of a binary32
__device__ __forceinline__ float sg_half_to_float(sg_half v) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(v.bits));
  return wide;
}
// Half to even, as all that follow.
__device__ __forceinline__ sg_half sg_float_to_half(float v) {
  sg_half narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(v));
  return narrow;
}
__device__ __forceinline__ float sg_bfloat16_to_float(sg_bfloat16 v) { return __uint_as_float((unsigned)v.bits << 16); }
__device__ __forceinline__ sg_bfloat16 sg_float_to_bfloat16(float v) {
  const unsigned bits = __float_as_uint(v);
  if (v != v) return {(unsigned short)(bits >> 16 | 0x40)};
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
// Towards zero, with the last bit set if that was not exact: rounding this once more is rounding once.
__device__ __forceinline__ float sg_to_odd(double v) {
  const float near = __double2float_rz(v);
  return near == v || v != v ? near : __uint_as_float(__float_as_uint(near) | 1);
}
__device__ __forceinline__ sg_half sg_double_to_half(double v) { return sg_float_to_half(sg_to_odd(v)); }
__device__ __forceinline__ sg_bfloat16 sg_double_to_bfloat16(double v) { return sg_float_to_bfloat16(sg_to_odd(v)); }
#endif
// --- end of prelude, halves ----------------------------------------------------------------------------------------

typedef float real;
typedef int index_t;

// cell_t: f16.
typedef sg_half cell_t;
__device__ __forceinline__ real load(cell_t v) { return sg_half_to_float(v); }
__device__ __forceinline__ cell_t store(real v) {
  return sg_float_to_half(v);
}
// The value that is read of a cell in which `v` was stored.
__device__ __forceinline__ real settled(real v) { return load(store(v)); }

// Weights of all updates in the order of their taps; set by the host.
__constant__ real W[27];


// What is not changed stays what it is, a zero with its sign.
__device__ __forceinline__ real beyond(real scale, real v, real offset) {
  if (scale == 1 && offset == 0) return v;
  return fmaf(scale, v, offset);
}

// Cells of a row that a lane holds, and a warp.
constexpr int V = 4, SPAN = 128;
__device__ __forceinline__ index_t min_of(index_t a, index_t b) { return a < b ? a : b; }
__device__ __forceinline__ index_t max_of(index_t a, index_t b) { return a < b ? b : a; }
struct __align__(8) lane_t { cell_t cell[V]; };
__device__ __forceinline__ real from_left(real v, int lanes) { return __shfl_up_sync(~0u, v, lanes); }
__device__ __forceinline__ real from_right(real v, int lanes) { return __shfl_down_sync(~0u, v, lanes); }

// The value k = 1, 2, ... cells beyond the high face of y; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_y_hi(real v, int k) { return 0.0f; }

// The value k = 1, 2, ... cells beyond the high face of x; v is that of the cell inside which it follows.
__device__ __forceinline__ real beyond_x_hi(real v, int k) { return 0x1p1f; }

// Update 1: 27 taps, by their offset along the slowest axis. A sum is made in their order; adding to -0 changes
// nothing. `at` gives the value at an offset along the other axes.
template <int OFFSET, class At>
__device__ __forceinline__ real add0(real sum, At at) {
  if (OFFSET == -1) {
    sum = fmaf(W[0], at(-1, -1), sum);
    sum = fmaf(W[1], at(-1, 0), sum);
    sum = fmaf(W[2], at(-1, 1), sum);
    sum = fmaf(W[3], at(0, -1), sum);
    sum = fmaf(W[4], at(0, 0), sum);
    sum = fmaf(W[5], at(0, 1), sum);
    sum = fmaf(W[6], at(1, -1), sum);
    sum = fmaf(W[7], at(1, 0), sum);
    sum = fmaf(W[8], at(1, 1), sum);
  }
  if (OFFSET == 0) {
    sum = fmaf(W[9], at(-1, -1), sum);
    sum = fmaf(W[10], at(-1, 0), sum);
    sum = fmaf(W[11], at(-1, 1), sum);
    sum = fmaf(W[12], at(0, -1), sum);
    sum = fmaf(W[13], at(0, 0), sum);
    sum = fmaf(W[14], at(0, 1), sum);
    sum = fmaf(W[15], at(1, -1), sum);
    sum = fmaf(W[16], at(1, 0), sum);
    sum = fmaf(W[17], at(1, 1), sum);
  }
  if (OFFSET == 1) {
    sum = fmaf(W[18], at(-1, -1), sum);
    sum = fmaf(W[19], at(-1, 0), sum);
    sum = fmaf(W[20], at(-1, 1), sum);
    sum = fmaf(W[21], at(0, -1), sum);
    sum = fmaf(W[22], at(0, 0), sum);
    sum = fmaf(W[23], at(0, 1), sum);
    sum = fmaf(W[24], at(1, -1), sum);
    sum = fmaf(W[25], at(1, 0), sum);
    sum = fmaf(W[26], at(1, 1), sum);
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
        const int face = 1 + V - 1 + lane * V;
        const real v = beyond_x_hi(wide[face], k);
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

// Rows of a plane that a lane holds cells of.
constexpr int R = 2;
// Cells that r rows hold; unsigned, which takes fewer registers where it is added to an address.
__device__ __forceinline__ unsigned rows(int r, index_t nx) { return r * nx; }
struct __align__(16) values_t { real of[V]; };

// Whether cell k of a lane in its row r keeps its value, because a tap would pass a fixed face.
__device__ __forceinline__ bool kept0(int r, int k, int lo, int hi, int top, int bottom) { return lo * V + k < 1 || top + r < 1; }
// A plane arrives at update 1. `wide` is the one before, with its neighbours; it is added to the sums of 3 planes. What is complete becomes `made`.
template <bool SIDES>
__device__ __forceinline__ void pass0(real (&sum)[2][R][V], const real (&wide)[1 + R + 1][1 + V + 1], real (&made)[R][V], int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const auto at = [&](int dy, int dx) { return wide[1 + r + dy][1 + k + dx]; };
      const bool kept = SIDES && kept0(r, k, lo, hi, top, bottom);
      made[r][k] = kept ? sum[0][r][k] : add0<1>(sum[0][r][k], at);
      sum[0][r][k] = kept ? at(0, 0) : add0<0>(sum[1][r][k], at);
      sum[1][r][k] = add0<-1>(-0.0f, at);
    }
}
// The neighbours of this warp's rows of a plane: `above` and `below` are rows of other warps.
template <bool SIDES>
__device__ __forceinline__ void frame0(const real (&plane)[R][V], const values_t (&above)[1], const values_t (&below)[1], real (&wide)[1 + R + 1][1 + V + 1], int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int r = 0; r < R; ++r) widen0<SIDES>(plane[r], wide[1 + r], lo, hi);
#pragma unroll
  for (int r = 0; r < 1; ++r) {
    widen0<SIDES>(above[r].of, wide[r], lo, hi);
  }
#pragma unroll
  for (int r = 0; r < 1; ++r) {
    widen0<SIDES>(below[r].of, wide[1 + R + r], lo, hi);
  }
  if (SIDES && bottom == 0) {  // rows beyond the high face
#pragma unroll
    for (int k = 1; k <= 1; ++k)
#pragma unroll
      for (int j = 0; j < 1 + V + 1; ++j) {
        const real v = wide[1 + R - 1 - (0)][j];
        wide[1 + R - 1 + k][j] = beyond_y_hi(v, k);
      }
  }
}
// The same as pass0 for plane z where the march may meet faces: planes beyond a face are added when the plane has arrived that they
// follow.
template <bool SIDES>
__device__ __forceinline__ void meet0(real (&sum)[2][R][V], const real (&wide)[1 + R + 1][1 + V + 1], real (&made)[R][V], index_t z, index_t nz, int lo, int hi, int top, int bottom) {
  const index_t y = z - 1;  // the plane that is added
  // Planes that a tap would pass a fixed face from keep what they are.
  real old[2][R][V];
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int k = 0; k < V; ++k) {
#pragma unroll
      for (int s = 0; s < 1; ++s) old[s][r][k] = sum[s][r][k];
      old[1][r][k] = wide[1 + r][1 + k];
    }
  if (y < 0 || y >= nz) {  // no plane
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int k = 0; k < V; ++k) {
        made[r][k] = sum[0][r][k];
#pragma unroll
        for (int s = 1; s < 2; ++s) sum[s - 1][r][k] = sum[s][r][k];
        sum[1][r][k] = -0.0f;
      }
  } else {
    pass0<SIDES>(sum, wide, made, lo, hi, top, bottom);
    if (y == nz - 2) {  // the plane 1 above
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const auto at = [&](int dy, int dx) { return wide[1 + r + dy][1 + k + dx]; };
          if (SIDES && kept0(r, k, lo, hi, top, bottom)) continue;
          sum[1][r][k] = add0<1>(sum[1][r][k], at);
        }
    }
  }
#pragma unroll
  for (int s = 0; s <= 1; ++s) {
    const index_t to = y - 1 + s;
    if (to < 1) {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          if (s == 0) made[r][k] = old[s][r][k];
          else sum[s > 0 ? s - 1 : 0][r][k] = old[s][r][k];
        }
    }
  }
}

// Stores a lane's cells of row r of plane `made` at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void box3d_store(const cell_t* in, cell_t* target, index_t first_cell, const real (&row)[V], index_t made, index_t nz, int r, int lo, int hi, int top, int bottom) {
  struct __align__(8) piece_t { cell_t cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      const index_t cell = first_cell + k;
      if (ENDS && (made < 1 || (nz > 1 && made >= 2 * nz - 2)) || SIDES && kept0(r, k, lo, hi, top, bottom)) piece.cell[j] = in[cell];  // a tap would pass a fixed face
      else piece.cell[j] = store(row[k]);
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}
// Takes plane z, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face. Edge rows are exchanged with the warps beside this one.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void box3d_levels(real (&plane0)[2][R][V], real (&sum0)[2][2][R][V], real (&now)[R][V], values_t* given, const values_t* taken, index_t z, index_t nz, int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int t = 0; t < 2; ++t) {
    {
      real made[R][V];
      real wide[1 + R + 1][1 + V + 1];
      const int level = (t * 1 + 0) * 5 * 2 * 32;
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
      if (MEETS) meet0<SIDES>(sum0[t], wide, made, z, nz, lo, hi, top, bottom);
      else pass0<SIDES>(sum0[t], wide, made, lo, hi, top, bottom);
      z -= 2;
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) {
          plane0[t][r][k] = now[r][k];
          now[r][k] = made[r][k];
        }
    }
    if (t < 1) {
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int k = 0; k < V; ++k) now[r][k] = settled(now[r][k]);
    }
  }
}
// 2 steps of planes z0 to z1 - 1 by a block whose rows begin at y0 and whose columns begin at x0; `sides` is whether
// it meets faces of either.
__device__ __forceinline__ void box3d_march(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t z0, index_t z1, index_t y0, index_t x0, bool first, bool last, bool lowest, bool highest, bool sides) {
  constexpr int RING = 3, W = 4, LAG = 4;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  // Lanes between this one and the faces of its rows, and rows between those of this warp and the faces across them.
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const int top = lowest ? warp * R : 1024, bottom = highest ? (W - 1 - warp) * R : 1024;
  // Neighbouring blocks make the cells of the other lanes and rows.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  const int row_from = lowest ? 0 : 2 - warp * R, row_to = (highest ? W * R : W * R - 2) - warp * R;
  real plane0[2][R][V] = {};
  real sum0[2][2][R][V] = {};
  lane_t* const ring = (lane_t*)sg_dyn_smem();
  // Edge rows of the planes that levels hold, by the pairs of warps that they lie between; those of this plane and of the last.
  values_t* const edges = (values_t*)(ring + 3072 / V);
  values_t* given = edges + warp * 2 * 32 + lane;
  values_t* taken = given + 2 * (W + 1) * 2 * 32;
  const index_t area = ny * nx;
  const index_t end = z1 + 2, past = z1 + LAG;  // of what is fetched, and of what arrives
  index_t z = z0 - 2;  // the plane that arrives
  const index_t column = x0 + lane * V;
  // Where this warp's rows begin in a plane, for this lane.
  const index_t origin = (y0 + warp * R) * nx + column;
  // Fetches this warp's part of a plane from there on into a place of the ring.
  const auto fetch = [&](const cell_t* from, int place) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const cell_t* const row = from + rows(r, nx);
      cell_t* const to = ring[((place * W + warp) * R + r) * 32].cell;
#pragma unroll
      for (int i = 0; i < 1; ++i) {
        const int cell = i * 4;
        sg_cp_async<8>(to + lane * V + cell, row + cell);
      }
    }
  };
  // The same of plane z, unless no level needs it.
  const auto fetch_plane = [&](index_t z, int place) {
    if (z < end) {
      z = z < 0 ? 0 : z >= nz ? nz - 1 : z;
      fetch(in + z * area + origin, place);
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
      for (int k = 0; k < V; ++k) now[r][k] = load(cells.cell[k]);
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
      box3d_levels<true, true>(plane0, sum0, now, given, taken, z, nz, lo, hi, top, bottom);
      const index_t made = z - LAG;
      const index_t target = made * area + (y0 + warp * R) * nx + x0 + lane * V;
      if (stored && made >= z0) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          if (r >= row_from && r < row_to) box3d_store<true, true>(in, out + target + r * nx, target + r * nx, now[r], made, nz, r, lo, hi, top, bottom);
      }
      exchange();
    }
    if (part == 1 || z >= until) continue;
    if (sides) {
      const cell_t* source = in + (z + RING - 1) * area + origin;
      cell_t* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
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
          box3d_levels<true, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) box3d_store<true, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    } else {
      const cell_t* source = in + (z + RING - 1) * area + origin;
      cell_t* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
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
          box3d_levels<false, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) box3d_store<false, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    }
  }
}
// 2 steps: a block marches over `chunk` planes, with a span of columns and 4 x 2 rows; blocks are numbered along blockIdx.x, columns
// first, then rows, then chunks.
extern "C" __global__ void __launch_bounds__(128)
box3d(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t chunk) {
  constexpr int ROWS = 4 * R;
  const index_t spans = 1 + (nx - SPAN + 119) / 120;
  const index_t bands = 1 + (ny - ROWS + 3) / 4;
  const index_t span = blockIdx.x % spans, band = blockIdx.x / spans % bands;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / spans / bands, pieces = (nz + chunk - 1) / chunk;
  const index_t z0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, z1 = min_of(z0 + chunk, nz);
  // The last span and band are moved inward, to end at a face.
  const index_t x0 = span + 1 < spans ? span * 120 : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const index_t y0 = band + 1 < bands ? band * 4 : ny - ROWS;
  const bool lowest = band == 0, highest = band + 1 == bands;
  const bool sides = first || last || lowest || highest;
  box3d_march(in, out, nz, ny, nx, z0, z1, y0, x0, first, last, lowest, highest, sides);
}

// Stores a lane's cells of row r of plane `made` at `target`, the cell `first_cell`.
template <bool SIDES, bool ENDS>
__device__ __forceinline__ void box3d_single_store(const cell_t* in, cell_t* target, index_t first_cell, const real (&row)[V], index_t made, index_t nz, int r, int lo, int hi, int top, int bottom) {
  struct __align__(8) piece_t { cell_t cell[4]; };
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    piece_t piece;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int k = i * 4 + j;
      const index_t cell = first_cell + k;
      if (ENDS && (made < 1 || (nz > 1 && made >= 2 * nz - 2)) || SIDES && kept0(r, k, lo, hi, top, bottom)) piece.cell[j] = in[cell];  // a tap would pass a fixed face
      else piece.cell[j] = store(row[k]);
    }
    *(piece_t*)(target + i * 4) = piece;
  }
}
// Takes plane z, which has arrived, through all levels: it becomes the one that the last of them completes. MEETS is whether any may
// lie near a face. Edge rows are exchanged with the warps beside this one.
template <bool SIDES, bool MEETS>
__device__ __forceinline__ void box3d_single_levels(real (&plane0)[1][R][V], real (&sum0)[1][2][R][V], real (&now)[R][V], values_t* given, const values_t* taken, index_t z, index_t nz, int lo, int hi, int top, int bottom) {
#pragma unroll
  for (int t = 0; t < 1; ++t) {
    {
      real made[R][V];
      real wide[1 + R + 1][1 + V + 1];
      const int level = (t * 1 + 0) * 5 * 2 * 32;
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
      if (MEETS) meet0<SIDES>(sum0[t], wide, made, z, nz, lo, hi, top, bottom);
      else pass0<SIDES>(sum0[t], wide, made, lo, hi, top, bottom);
      z -= 2;
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
__device__ __forceinline__ void box3d_single_march(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t z0, index_t z1, index_t y0, index_t x0, bool first, bool last, bool lowest, bool highest, bool sides) {
  constexpr int RING = 3, W = 4, LAG = 2;
  // Told as one number for all lanes, so that nothing that follows from it seems to divide them.
  const int lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  // Lanes between this one and the faces of its rows, and rows between those of this warp and the faces across them.
  const int lo = first ? lane : 64, hi = last ? 31 - lane : 64;
  const int top = lowest ? warp * R : 1024, bottom = highest ? (W - 1 - warp) * R : 1024;
  // Neighbouring blocks make the cells of the other lanes and rows.
  const bool stored = (first || lane * V >= 4) && (last || lane * V < SPAN - 4);
  const int row_from = lowest ? 0 : 1 - warp * R, row_to = (highest ? W * R : W * R - 1) - warp * R;
  real plane0[1][R][V] = {};
  real sum0[1][2][R][V] = {};
  lane_t* const ring = (lane_t*)sg_dyn_smem();
  // Edge rows of the planes that levels hold, by the pairs of warps that they lie between; those of this plane and of the last.
  values_t* const edges = (values_t*)(ring + 3072 / V);
  values_t* given = edges + warp * 2 * 32 + lane;
  values_t* taken = given + 1 * (W + 1) * 2 * 32;
  const index_t area = ny * nx;
  const index_t end = z1 + 1, past = z1 + LAG;  // of what is fetched, and of what arrives
  index_t z = z0 - 1;  // the plane that arrives
  const index_t column = x0 + lane * V;
  // Where this warp's rows begin in a plane, for this lane.
  const index_t origin = (y0 + warp * R) * nx + column;
  // Fetches this warp's part of a plane from there on into a place of the ring.
  const auto fetch = [&](const cell_t* from, int place) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const cell_t* const row = from + rows(r, nx);
      cell_t* const to = ring[((place * W + warp) * R + r) * 32].cell;
#pragma unroll
      for (int i = 0; i < 1; ++i) {
        const int cell = i * 4;
        sg_cp_async<8>(to + lane * V + cell, row + cell);
      }
    }
  };
  // The same of plane z, unless no level needs it.
  const auto fetch_plane = [&](index_t z, int place) {
    if (z < end) {
      z = z < 0 ? 0 : z >= nz ? nz - 1 : z;
      fetch(in + z * area + origin, place);
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
      for (int k = 0; k < V; ++k) now[r][k] = load(cells.cell[k]);
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
      box3d_single_levels<true, true>(plane0, sum0, now, given, taken, z, nz, lo, hi, top, bottom);
      const index_t made = z - LAG;
      const index_t target = made * area + (y0 + warp * R) * nx + x0 + lane * V;
      if (stored && made >= z0) {
#pragma unroll
        for (int r = 0; r < R; ++r)
          if (r >= row_from && r < row_to) box3d_single_store<true, true>(in, out + target + r * nx, target + r * nx, now[r], made, nz, r, lo, hi, top, bottom);
      }
      exchange();
    }
    if (part == 1 || z >= until) continue;
    if (sides) {
      const cell_t* source = in + (z + RING - 1) * area + origin;
      cell_t* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
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
          box3d_single_levels<true, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) box3d_single_store<true, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    } else {
      const cell_t* source = in + (z + RING - 1) * area + origin;
      cell_t* target = out + ((z - LAG) * area + (y0 + warp * R) * nx + x0 + lane * V);
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
          box3d_single_levels<false, false>(plane0, sum0, now, given, taken, 0, nz, lo, hi, top, bottom);
          if (stored && i >= unmade) {
#pragma unroll
            for (int r = 0; r < R; ++r)
              if (r >= row_from && r < row_to) box3d_single_store<false, false>(in, target + rows(r, nx), index_t(target - out) + r * nx, now[r], z + i - LAG, nz, r, lo, hi, top, bottom);
          }
          source += area;
          target += area;
          exchange();
        }
      }
    }
  }
}
// 1 step: a block marches over `chunk` planes, with a span of columns and 4 x 2 rows; blocks are numbered along blockIdx.x, columns
// first, then rows, then chunks.
extern "C" __global__ void __launch_bounds__(128)
box3d_single(const cell_t* __restrict__ in, cell_t* __restrict__ out, index_t nz, index_t ny, index_t nx, index_t chunk) {
  constexpr int ROWS = 4 * R;
  const index_t spans = 1 + (nx - SPAN + 119) / 120;
  const index_t bands = 1 + (ny - ROWS + 5) / 6;
  const index_t span = blockIdx.x % spans, band = blockIdx.x / spans % bands;
  // The last chunk comes first: at the faces there is more to do.
  const index_t piece = blockIdx.x / spans / bands, pieces = (nz + chunk - 1) / chunk;
  const index_t z0 = (piece == 0 ? pieces - 1 : piece - 1) * chunk, z1 = min_of(z0 + chunk, nz);
  // The last span and band are moved inward, to end at a face.
  const index_t x0 = span + 1 < spans ? span * 120 : nx - SPAN;
  const bool first = span == 0, last = span + 1 == spans;
  const index_t y0 = band + 1 < bands ? band * 6 : ny - ROWS;
  const bool lowest = band == 0, highest = band + 1 == bands;
  const bool sides = first || last || lowest || highest;
  box3d_single_march(in, out, nz, ny, nx, z0, z1, y0, x0, first, last, lowest, highest, sides);
}


