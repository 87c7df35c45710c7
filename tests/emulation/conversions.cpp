// Conversions of numbers of 16 bits. Reads doubles from one file; writes to another: all numbers of both formats as float;
// then for each double six numbers: both formats from it and from the nearest float, as the emulation rounds them, and both
// from it as the prelude of the kernels does.
#include <cfenv>
#include <cstdio>
#include <vector>

#include "cuda_cpu.hpp"

// The prelude itself, but for the two conversions that are PTX: of them the emulation's are taken.
namespace prelude {
inline unsigned __float_as_uint(float v) { return emu::to_bits(v); }
inline float __uint_as_float(unsigned bits) { return emu::from_bits(bits); }
inline float __double2float_rz(double v) {
  const float near = float(v);
  return std::fabs(double(near)) > std::fabs(v) ? std::nextafterf(near, 0.0f) : near;
}
#undef SG_PRELUDE_HALF
#define asm(...) (void)v
#include "../../templates/prelude_half.cu"
#undef asm
}  // namespace prelude

namespace {

std::vector<double> read(const char* path) {
  FILE* file = fopen(path, "rb");
  std::vector<double> values;
  double value;
  while (fread(&value, sizeof value, 1, file) == 1) values.push_back(value);
  fclose(file);
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* out = fopen(argv[2], "wb");
  for (int brain = 0; brain < 2; brain++)
    for (unsigned bits = 0; bits < 65536; bits++) {
      const auto narrow = static_cast<unsigned short>(bits);
      const float wide = brain ? sg_bfloat16_to_float({narrow}) : sg_half_to_float({narrow});
      fwrite(&wide, sizeof wide, 1, out);
    }
  for (double v : read(argv[1])) {
    const unsigned short row[6] = {
        sg_double_to_half(v).bits,
        sg_double_to_bfloat16(v).bits,
        sg_float_to_half(float(v)).bits,
        sg_float_to_bfloat16(float(v)).bits,
        sg_float_to_half(prelude::sg_to_odd(v)).bits,
        prelude::sg_double_to_bfloat16(v).bits,
    };
    fwrite(row, sizeof row, 1, out);
  }
  return fclose(out);
}
