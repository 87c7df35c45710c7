// What the program with the cases is made of: fields for the launches of a case, and the session that runs all of them.
//
// Every case runs in two modes that differ in everything CUDA leaves open (order of threads and blocks, landing of
// copies, side of the arrays that is watched to the byte); both must give the same bits. Inputs come from one file and
// outputs go to another, the cells of all cases one after the other; for each case a line goes to stdout:
// `name<TAB>ok` or `name<TAB>` and the fault. A case that hangs ends the program.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "cuda_cpu.hpp"

namespace runner {

constexpr unsigned SECONDS_A_CASE = 30;

/// The arrays of one case.
template <class T> class Fields {
 public:
  Fields(const std::vector<T>& input)
      : cells_(input.size()),
        arrays_{{"field 0", cells_ * sizeof(T)}, {"field 1", cells_ * sizeof(T)}},
        scratch_("scratch", cells_ * sizeof(T)) {
    memcpy(src().template as<T>(), input.data(), cells_ * sizeof(T));
  }

  /// The field at the start of the step, and the one that the step makes.
  emu::Guarded& src() { return arrays_[turn_]; }
  emu::Guarded& dst() { return arrays_[1 - turn_]; }
  /// What lies between them in a chain of passes.
  emu::Guarded& scratch() { return scratch_; }
  /// The step is made: what it wrote is the start of the next.
  void swap() { turn_ = 1 - turn_; }

  /// One launch of `kernel(in, start, out)`. Nothing but `out` can be written, and every cell of it must be.
  template <class Kernel>
  bool launch(dim3 grid, dim3 block, std::size_t shared_bytes, emu::Guarded& in, emu::Guarded& out, Kernel kernel) {
    out.poison();
    src().writable(false);
    in.writable(false);
    const T* from = in.as<T>();
    const T* start = src().template as<T>();
    T* to = out.as<T>();
    emu::launch(grid, block, shared_bytes, [&] { kernel(from, start, to); });
    src().writable(true);
    in.writable(true);
    out.check_surroundings();
    for (std::size_t cell = 0; cell < cells_; cell++)
      if (emu::is_poison(to + cell, sizeof(T)))
        emu::note_fault("cell %zu of the output was not written, or from poison", cell);
    return emu::fault.empty();
  }

  std::vector<T> values() {
    const T* start = src().template as<T>();
    return std::vector<T>(start, start + cells_);
  }

 private:
  std::size_t cells_;
  emu::Guarded arrays_[2];
  emu::Guarded scratch_;
  int turn_ = 0;
};

class Session {
 public:
  Session(int argc, char** argv) {
    if (argc != 3) stop("usage: PROGRAM INPUT OUTPUT");
    input_ = fopen(argv[1], "rb");
    output_ = fopen(argv[2], "wb");
    if (input_ == nullptr || output_ == nullptr) stop("cannot open the files");
    emu::watch_memory();
  }

  template <class T> void play(const char* name, std::size_t cells, void (*run)(Fields<T>&)) {
    alarm(SECONDS_A_CASE);
    std::vector<T> input(cells), results[2];
    if (fread(input.data(), sizeof(T), cells, input_) != cells) stop("the input file is too short");
    std::string fault;
    for (int way = 0; way < 2 && fault.empty(); way++) {
      emu::mode = {way == 0, way == 1, way == 0};
      emu::fault.clear();
      Fields<T> fields(input);
      run(fields);
      fault = emu::fault;
      results[way] = fields.values();
    }
    if (fault.empty() && memcmp(results[0].data(), results[1].data(), cells * sizeof(T)) != 0)
      fault = "another order of threads gives other values";
    if (fwrite(results[0].data(), sizeof(T), cells, output_) != cells) stop("cannot write the output file");
    printf("%s\t%s\n", name, fault.empty() ? "ok" : fault.c_str());
    fflush(stdout);
  }

  int finish() { return fclose(output_) == 0 ? 0 : 3; }

 private:
  [[noreturn]] static void stop(const char* why) {
    fprintf(stderr, "%s\n", why);
    exit(3);
  }

  FILE* input_;
  FILE* output_;
};

}  // namespace runner
