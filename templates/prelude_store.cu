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
