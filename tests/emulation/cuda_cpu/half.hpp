// Numbers of 16 bits, in place of the prelude for halves: rounded by their definition, once, from double as from float.
#pragma once

#define SG_PRELUDE_HALF

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

struct sg_half { unsigned short bits; };
struct sg_bfloat16 { unsigned short bits; };

namespace emu {

/// A format of 16 bits: a sign, exponents, and the digits after the point. The leading 1
/// of a number is worth at least 2^LEAST; what is less has none, and the digits that the least number has.
template <int DIGITS, int LEAST> struct Half {
  static constexpr long INFINITE = 0x7FFF >> DIGITS << DIGITS;

  /// The nearest, half to even; not of NaN.
  static unsigned short of(double value) {
    long bits = INFINITE;
    if (!std::isinf(value)) {
      int exponent;
      std::frexp(value, &exponent);  // |value| lies in [1/2, 1) * 2^exponent
      const int leading = value != 0 && exponent - 1 > LEAST ? exponent - 1 : LEAST;
      // In units of the last digit; the leading 1, and one more from rounding up, count in the exponent.
      const double count = std::rint(std::ldexp(std::fabs(value), DIGITS - leading));
      bits = std::min((long(leading - LEAST) << DIGITS) + long(count), bits);
    }
    return static_cast<unsigned short>(bits | (std::signbit(value) ? 0x8000 : 0));
  }

  /// Exactly the number; not of NaN.
  static double value(unsigned short bits) {
    const int magnitude = bits & 0x7FFF, exponent = magnitude >> DIGITS;
    const int fraction = magnitude & ((1 << DIGITS) - 1);
    double value = exponent == 0 ? std::ldexp(fraction, LEAST - DIGITS)
                                 : std::ldexp(fraction + (1 << DIGITS), LEAST - DIGITS + exponent - 1);
    if (magnitude == INFINITE) value = INFINITY;
    return bits & 0x8000 ? -value : value;
  }

  static bool is_nan(unsigned short bits) { return (bits & 0x7FFF) > INFINITE; }
};
using Binary16 = Half<10, -14>;
using Bfloat16 = Half<7, -126>;

inline float from_bits(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
inline std::uint32_t to_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace emu

// The conversions of PTX make one NaN of all, whatever its sign and payload.
inline float sg_half_to_float(sg_half v) {
  return emu::Binary16::is_nan(v.bits) ? emu::from_bits(0x7FFFFFFF) : float(emu::Binary16::value(v.bits));
}
inline sg_half sg_double_to_half(double v) {
  if (v != v) return {0x7FFF};
  return {emu::Binary16::of(v)};
}
inline sg_half sg_float_to_half(float v) { return sg_double_to_half(v); }

// NaN keeps its sign and what there is room for of its payload.
inline float sg_bfloat16_to_float(sg_bfloat16 v) {
  return emu::Bfloat16::is_nan(v.bits) ? emu::from_bits(std::uint32_t(v.bits) << 16) : float(emu::Bfloat16::value(v.bits));
}
inline sg_bfloat16 sg_float_to_bfloat16(float v) {
  if (v != v) return {static_cast<unsigned short>(emu::to_bits(v) >> 16 | 0x40)};
  return {emu::Bfloat16::of(v)};
}
inline sg_bfloat16 sg_double_to_bfloat16(double v) {
  if (v != v) return sg_float_to_bfloat16(float(v));
  return {emu::Bfloat16::of(v)};
}
