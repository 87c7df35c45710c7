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
