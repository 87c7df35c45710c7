// What the program with the cases is made of: arrays for the launches of a case, and the session that runs all of them.
//
// Every case runs in two modes that differ in everything CUDA leaves open (order of threads and blocks, landing of
// copies, side of the arrays that is watched to the byte, what is in memory before it is written); both must give the same
// bits. Inputs come from one file: for each case its cells, then the weights that the host sets. Outputs go to another:
// the cells of the result, then the overflow flag. For each case a line goes to stdout: `name<TAB>ok` or `name<TAB>` and
// the fault. A case that hangs ends the program.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "cuda_cpu.hpp"

namespace runner {

constexpr unsigned SECONDS_A_CASE = 30;

/// What a kernel's pointer parameter is given, whatever it points to.
struct Pointer {
  void* place;
  template <class T> operator T*() const { return static_cast<T*>(place); }
};

/// An array on the grid.
class Array {
 public:
  Array(const char* name, std::size_t cells, std::size_t element)
      : cells_(cells), element_(element), memory_(name, cells * element) {}

  Pointer place() const { return {memory_.as<void>()}; }
  std::size_t bytes() const { return memory_.bytes(); }
  void writable(bool yes) { memory_.writable(yes); }
  void poison() { memory_.poison(); }

  /// Notes a fault if anything beside it was written since it was poisoned, or a cell of it was not. Narrow cells may hold
  /// what looks like poison; there the other mode shows it.
  void check() const {
    memory_.check_surroundings();
    if (element_ < sizeof emu::mode.poison) return;
    for (std::size_t cell = 0; cell < cells_; cell++)
      if (emu::is_poison(memory_.as<char>() + cell * element_, element_))
        emu::note_fault("cell %zu of the output was not written, or from poison", cell);
  }

 private:
  std::size_t cells_;
  std::size_t element_;
  emu::Guarded memory_;
};

/// How many cells there are, and the bytes of a cell, of a value between passes, and of a cell of the result.
struct Sizes {
  std::size_t cells, cell, value, result;
};

/// The arrays of one case, and the launches on them.
class Arrays {
 public:
  Arrays(Sizes sizes, const std::vector<char>& input)
      : input_("input", sizes.cells, sizes.cell),
        targets_{{"target 0", sizes.cells, sizes.cell}, {"target 1", sizes.cells, sizes.cell}},
        scratch_{{"scratch 0", sizes.cells, sizes.value}, {"scratch 1", sizes.cells, sizes.value}},
        result_("result", sizes.cells, sizes.result),
        flag_("overflow flag", sizeof(unsigned long long)) {
    memcpy(input_.place(), input.data(), input.size());
    *flag_.as<unsigned long long>() = ~0ull;
  }

  /// The field at the start of the step, and the one that the step makes.
  Array& source() { return *source_; }
  Array& target() { return targets_[turn_]; }
  /// What a pass of a step leaves for the next.
  Array& scratch(int pass) { return scratch_[pass % 2]; }
  /// What the last step makes where that is of another type.
  Array& result() { return result_; }
  /// The least index of a cell whose value was out of range.
  Pointer overflowed() const { return {flag_.as<void>()}; }

  /// The step is made, and its result lies in `made`.
  void step(Array& made) {
    source_ = &made;
    turn_ = 1 - turn_;
  }

  /// One launch of `kernel(in, start, out)`. Nothing but `out` and the flag can be written, and every cell of `out` must be.
  template <class Kernel>
  bool launch(dim3 grid, dim3 block, std::size_t shared_bytes, Array& in, Array& out, Kernel kernel) {
    Array* const all[] = {&input_, &targets_[0], &targets_[1], &scratch_[0], &scratch_[1], &result_};
    for (Array* array : all) array->writable(array == &out);
    out.poison();
    emu::launch(grid, block, shared_bytes, [&] { kernel(in.place(), source_->place(), out.place()); });
    out.check();
    flag_.check_surroundings();
    return emu::fault.empty();
  }

  /// The cells that were made last, then the flag.
  std::vector<char> outcome() const {
    const char* cells = source_->place();
    std::vector<char> bytes(cells, cells + source_->bytes());
    const char* flag = flag_.as<char>();
    bytes.insert(bytes.end(), flag, flag + flag_.bytes());
    return bytes;
  }

 private:
  Array input_, targets_[2], scratch_[2], result_;
  emu::Guarded flag_;
  Array* source_ = &input_;
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

  /// Runs a case whose text has `weight_bytes` of weights for the host to set.
  void play(const char* name, Sizes sizes, void (*run)(Arrays&), void* weights = nullptr, std::size_t weight_bytes = 0) {
    alarm(SECONDS_A_CASE);
    std::vector<char> input = read(sizes.cells * sizes.cell), outcomes[2];
    const std::vector<char> given = read(weight_bytes);
    if (weight_bytes > 0) memcpy(weights, given.data(), weight_bytes);
    std::string fault;
    for (int way = 0; way < 2 && fault.empty(); way++) {
      emu::mode = way == 0 ? emu::LATE : emu::EARLY;
      emu::fault.clear();
      Arrays arrays(sizes, input);
      run(arrays);
      fault = emu::fault;
      outcomes[way] = arrays.outcome();
    }
    if (fault.empty() && outcomes[0] != outcomes[1]) fault = "another order of threads gives other values";
    // What was left in the middle may be an array of another size.
    outcomes[0].resize(sizes.cells * sizes.result + sizeof(unsigned long long));
    if (fwrite(outcomes[0].data(), 1, outcomes[0].size(), output_) != outcomes[0].size()) stop("cannot write the output file");
    printf("%s\t%s\n", name, fault.empty() ? "ok" : fault.c_str());
    fflush(stdout);
  }

  int finish() { return fclose(output_) == 0 ? 0 : 3; }

 private:
  std::vector<char> read(std::size_t bytes) {
    std::vector<char> read(bytes);
    if (fread(read.data(), 1, bytes, input_) != bytes) stop("the input file is too short");
    return read;
  }

  [[noreturn]] static void stop(const char* why) {
    fprintf(stderr, "%s\n", why);
    exit(3);
  }

  FILE* input_;
  FILE* output_;
};

}  // namespace runner
