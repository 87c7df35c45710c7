// running_mean: 400 taps in 1D, f32; made by stencilgen 0.1.0.
// Planned for H200 (sm_90).
//
// Spec, but for grid and steps, which are arguments:
//   {"name":"running_mean","dtype":"f32","stencil":{"preset":"mean","size":400},"boundary":"reflect",
//   "fast_math":false}
//
// Arrays hold nx cells each, the last axis contiguous, and must not overlap.
// Launch (in order; ceil is the quotient rounded up):
//   running_mean: grid (ceil(nx / 2048), 1, 1), block (256, 1, 1), 29176 bytes of dynamic shared memory
//   running_mean_single: grid (ceil(nx / 2048), 1, 1), block (256, 1, 1), 9788 bytes of dynamic shared memory

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

// Update 1: 400 taps, too many to write out, so a loop over tables.
__constant__ const real T0[400] = {
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
  0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f, 0x1.47ae14p-9f,
};
__constant__ const int O0[400][1] = {
  {-200}, {-199}, {-198}, {-197}, {-196}, {-195}, {-194}, {-193},
  {-192}, {-191}, {-190}, {-189}, {-188}, {-187}, {-186}, {-185},
  {-184}, {-183}, {-182}, {-181}, {-180}, {-179}, {-178}, {-177},
  {-176}, {-175}, {-174}, {-173}, {-172}, {-171}, {-170}, {-169},
  {-168}, {-167}, {-166}, {-165}, {-164}, {-163}, {-162}, {-161},
  {-160}, {-159}, {-158}, {-157}, {-156}, {-155}, {-154}, {-153},
  {-152}, {-151}, {-150}, {-149}, {-148}, {-147}, {-146}, {-145},
  {-144}, {-143}, {-142}, {-141}, {-140}, {-139}, {-138}, {-137},
  {-136}, {-135}, {-134}, {-133}, {-132}, {-131}, {-130}, {-129},
  {-128}, {-127}, {-126}, {-125}, {-124}, {-123}, {-122}, {-121},
  {-120}, {-119}, {-118}, {-117}, {-116}, {-115}, {-114}, {-113},
  {-112}, {-111}, {-110}, {-109}, {-108}, {-107}, {-106}, {-105},
  {-104}, {-103}, {-102}, {-101}, {-100}, {-99}, {-98}, {-97},
  {-96}, {-95}, {-94}, {-93}, {-92}, {-91}, {-90}, {-89},
  {-88}, {-87}, {-86}, {-85}, {-84}, {-83}, {-82}, {-81},
  {-80}, {-79}, {-78}, {-77}, {-76}, {-75}, {-74}, {-73},
  {-72}, {-71}, {-70}, {-69}, {-68}, {-67}, {-66}, {-65},
  {-64}, {-63}, {-62}, {-61}, {-60}, {-59}, {-58}, {-57},
  {-56}, {-55}, {-54}, {-53}, {-52}, {-51}, {-50}, {-49},
  {-48}, {-47}, {-46}, {-45}, {-44}, {-43}, {-42}, {-41},
  {-40}, {-39}, {-38}, {-37}, {-36}, {-35}, {-34}, {-33},
  {-32}, {-31}, {-30}, {-29}, {-28}, {-27}, {-26}, {-25},
  {-24}, {-23}, {-22}, {-21}, {-20}, {-19}, {-18}, {-17},
  {-16}, {-15}, {-14}, {-13}, {-12}, {-11}, {-10}, {-9},
  {-8}, {-7}, {-6}, {-5}, {-4}, {-3}, {-2}, {-1},
  {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7},
  {8}, {9}, {10}, {11}, {12}, {13}, {14}, {15},
  {16}, {17}, {18}, {19}, {20}, {21}, {22}, {23},
  {24}, {25}, {26}, {27}, {28}, {29}, {30}, {31},
  {32}, {33}, {34}, {35}, {36}, {37}, {38}, {39},
  {40}, {41}, {42}, {43}, {44}, {45}, {46}, {47},
  {48}, {49}, {50}, {51}, {52}, {53}, {54}, {55},
  {56}, {57}, {58}, {59}, {60}, {61}, {62}, {63},
  {64}, {65}, {66}, {67}, {68}, {69}, {70}, {71},
  {72}, {73}, {74}, {75}, {76}, {77}, {78}, {79},
  {80}, {81}, {82}, {83}, {84}, {85}, {86}, {87},
  {88}, {89}, {90}, {91}, {92}, {93}, {94}, {95},
  {96}, {97}, {98}, {99}, {100}, {101}, {102}, {103},
  {104}, {105}, {106}, {107}, {108}, {109}, {110}, {111},
  {112}, {113}, {114}, {115}, {116}, {117}, {118}, {119},
  {120}, {121}, {122}, {123}, {124}, {125}, {126}, {127},
  {128}, {129}, {130}, {131}, {132}, {133}, {134}, {135},
  {136}, {137}, {138}, {139}, {140}, {141}, {142}, {143},
  {144}, {145}, {146}, {147}, {148}, {149}, {150}, {151},
  {152}, {153}, {154}, {155}, {156}, {157}, {158}, {159},
  {160}, {161}, {162}, {163}, {164}, {165}, {166}, {167},
  {168}, {169}, {170}, {171}, {172}, {173}, {174}, {175},
  {176}, {177}, {178}, {179}, {180}, {181}, {182}, {183},
  {184}, {185}, {186}, {187}, {188}, {189}, {190}, {191},
  {192}, {193}, {194}, {195}, {196}, {197}, {198}, {199},
};
// `at` gives the value at an offset from the cell, slowest axis first.
template <class At>
__device__ __forceinline__ real update0(At at) {
  // Adding to -0 changes nothing.
  real sum = -0.0f;
  {
#pragma unroll 4
    for (int k = 0; k < 400; ++k) {
      sum = fmaf(T0[k], at(O0[k][0]), sum);
    }
  }
  return sum;
}

// Beyond the faces. A value there is scale * (the value at a cell inside) + offset; map_* finds that cell along one axis
// by applying the rule of the face beyond which the index lies until it is inside.
// x: reflect below, reflect above.
__device__ __forceinline__ index_t map_x(index_t i, index_t n) {
  while (i < 0 || i >= n) {
    if (i < 0) { i = -1 - i; }
    else { i = 2 * n - 1 - i; }
  }
  return i;
}

// The value at a place that may lie outside; the slowest axis maps first.
__device__ __noinline__ real outside(const real* in, index_t x, index_t nx) {
  x = map_x(x, nx);
  return in[x];
}

// 4 steps of the grid: a block a tile of 2048 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
running_mean(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  real* from = (real*)sg_dyn_smem();
  real* to = from + 3647;
  // The tile is [x0, x1).
  index_t block = blockIdx.x;
  const index_t x0 = block * 2048;
  const index_t x1 = x0 + 2048 < nx ? x0 + 2048 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = x0 < 800 || x0 + 2847 > nx;

  // Load the tile with its halo, 3647 cells.
  if (edge) {
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 3647; lx += 256) {
      const index_t x = x0 - 800 + lx;
      // No cell needs what lies further beyond the grid.
      if (x < x1 + 799)
        from[lx] = outside(in, x, nx);
    }
  } else {
    for (int lx = threadIdx.x; lx < 3647; lx += 256) {
      const index_t x = x0 - 800 + lx;
      sg_cp_async<4>(&from[lx], &in[x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }

  // Steps, with `left` more after each.
#pragma unroll 1
  for (int left = 3; left >= 0; --left) {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int x_below = 200 * left, x_above = 200 * left;
    const int x_cells = x_below + 2048 + x_above;
    // Its place in the buffers.
    const int first = (800 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        index_t x = x0 - x_below + lx;
        if (x >= x1 + x_above) continue;
        x = map_x(x, nx);
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(x - x0 + 800);
        real value = update0([&](int dx) { return u[dx]; });
        if (left > 0) to[first + lx] = value;
        else out[x] = value;
      }
    } else {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        const int place = first + lx;
        const real* const u = from + place;
        real value[1];
#pragma unroll
        for (int k = 0; k < 1; ++k)
          value[k] = update0([&](int dx) { return u[dx]; });
        const index_t cell = (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 1; ++k) {
          if (left > 0) to[place] = value[k];
          else out[cell] = value[k];
        }
      }
    }
    real* const swapped = from;
    from = to;
    to = swapped;
  }
}

// 1 step of the grid: a block a tile of 2048 cells, numbered along blockIdx.x, fastest axis first.
extern "C" __global__ void __launch_bounds__(256)
running_mean_single(const real* __restrict__ in, real* __restrict__ out, index_t nx) {
  real* from = (real*)sg_dyn_smem();
  // The tile is [x0, x1).
  index_t block = blockIdx.x;
  const index_t x0 = block * 2048;
  const index_t x1 = x0 + 2048 < nx ? x0 + 2048 : nx;
  // Whether the tile with its halo reaches beyond the grid; then every cell's place is looked up.
  const bool edge = x0 < 200 || x0 + 2247 > nx;

  // Load the tile with its halo, 2447 cells.
  if (edge) {
#pragma unroll 1
    for (int lx = threadIdx.x; lx < 2447; lx += 256) {
      const index_t x = x0 - 200 + lx;
      // No cell needs what lies further beyond the grid.
      if (x < x1 + 199)
        from[lx] = outside(in, x, nx);
    }
  } else {
    for (int lx = threadIdx.x; lx < 2447; lx += 256) {
      const index_t x = x0 - 200 + lx;
      sg_cp_async<4>(&from[lx], &in[x]);
    }
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
  }
  {
    __syncthreads();
    // Update 1 on the tile and what is read of it later: `*_below` and `*_above` cells beyond the tile.
    const int x_below = 0, x_above = 0;
    const int x_cells = x_below + 2048 + x_above;
    // Its place in the buffers.
    const int first = (200 - x_below);
    if (edge) {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        index_t x = x0 - x_below + lx;
        if (x >= x1 + x_above) continue;
        // The value beyond a face is computed as that of the cell inside which it follows.
        const real* const u = from + int(x - x0 + 200);
        real value = update0([&](int dx) { return u[dx]; });
        out[x] = value;
      }
    } else {
#pragma unroll 1
      for (int lx = threadIdx.x; lx < x_cells; lx += 256) {
        const int place = first + lx;
        const real* const u = from + place;
        real value[1];
#pragma unroll
        for (int k = 0; k < 1; ++k)
          value[k] = update0([&](int dx) { return u[dx]; });
        const index_t cell = (x0 - x_below + lx);
#pragma unroll
        for (int k = 0; k < 1; ++k) {
          out[cell] = value[k];
        }
      }
    }
  }
}


