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
