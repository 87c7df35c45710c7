// Memory in which every access outside what was asked for shows.
//
// A `Guarded` piece of memory lies between two zones that no instruction may touch, and touches one of them with its end
// or with its start (the mode of the run says which; whoever runs a kernel in both modes has both sides watched to the
// byte). A touch is a signal, which becomes a fault of the launch with the array's name and the distance. The few bytes
// between the piece and the other zone, and the piece itself before anybody writes to it, hold poison: a NaN in every
// floating-point type, with a payload that no computation makes by itself. A whole number may be the same by chance, so
// the two modes have poisons of which no byte is the same: what is made of poison differs between them.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <csignal>
#include <string>
#include <vector>

#include <unistd.h>

#include "fiber.hpp"

namespace emu {

constexpr std::size_t GUARD_BYTES = 64 << 20;      // address space only; no memory stands behind it
constexpr std::size_t ALIGNMENT = 16;              // what vector accesses and asynchronous copies may count on

/// How a run is arranged where CUDA leaves it open. Kernels must give the same under all of these.
struct Mode {
  bool at_end;      // arrays end (rather than start) at a forbidden zone
  bool descending;  // blocks and threads run in descending (rather than ascending) order
  bool late;        // asynchronous copies land when they are waited for (rather than at once)
  std::uint32_t poison;  // every word of poisoned memory
};
constexpr Mode LATE = {true, false, true, 0x7FFDFFAD}, EARLY = {false, true, false, 0xFFFE7FDB};
inline Mode mode = LATE;

/// The first fault of the launch, empty if there is none.
inline std::string fault;

inline void note_fault(const char* format, ...) {
  if (!fault.empty()) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fault = text;
}

inline void poison(void* start, std::size_t bytes) {
  unsigned char* at = static_cast<unsigned char*>(start);
  for (std::size_t i = 0; i < bytes; i += sizeof mode.poison)
    memcpy(at + i, &mode.poison, bytes - i < sizeof mode.poison ? bytes - i : sizeof mode.poison);
}

inline bool is_poison(const void* start, std::size_t bytes) {
  const unsigned char* at = static_cast<const unsigned char*>(start);
  for (std::size_t i = 0; i < bytes; i += sizeof mode.poison)
    if (memcmp(at + i, &mode.poison, bytes - i < sizeof mode.poison ? bytes - i : sizeof mode.poison) != 0) return false;
  return true;
}

class Guarded;
inline std::vector<Guarded*> all_guarded;  // for the signal handler, which must name what was missed

class Guarded {
 public:
  /// `bytes` of poisoned memory, aligned to ALIGNMENT; the name is for messages.
  Guarded(const char* name, std::size_t bytes) : name_(name), bytes_(bytes) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    open_bytes_ = (whole + page - 1) / page * page;
    if (open_bytes_ == 0) open_bytes_ = page;
    mapped_ = static_cast<char*>(mmap(nullptr, GUARD_BYTES * 2 + open_bytes_, PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (mapped_ == MAP_FAILED) {
      perror("guarded memory");
      exit(3);
    }
    open_ = mapped_ + GUARD_BYTES;
    data_ = mode.at_end ? open_ + open_bytes_ - whole : open_;
    writable(true);
    poison();
    all_guarded.push_back(this);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    for (std::size_t i = 0; i < all_guarded.size(); i++)
      if (all_guarded[i] == this) all_guarded.erase(all_guarded.begin() + long(i--));
    munmap(mapped_, GUARD_BYTES * 2 + open_bytes_);
  }

  template <class T> T* as() const { return reinterpret_cast<T*>(data_); }
  std::size_t bytes() const { return bytes_; }

  /// Fills the piece and the bytes around it.
  void poison() { emu::poison(open_, open_bytes_); }

  void writable(bool yes) {
    if (mprotect(open_, open_bytes_, yes ? PROT_READ | PROT_WRITE : PROT_READ) != 0) {
      perror("guarded memory");
      exit(3);
    }
  }

  /// Notes a fault if anything was written beside the piece since it was poisoned.
  void check_surroundings() const {
    const std::size_t before = std::size_t(data_ - open_);
    if (!is_poison(open_, before)) note_fault("a write before the start of `%s`", name_);
    // Poison is laid in words from the start; what follows the piece may begin within one.
    for (std::size_t i = before + bytes_; i < open_bytes_; i++)
      if (open_[i] != reinterpret_cast<const char*>(&mode.poison)[i % sizeof mode.poison])
        note_fault("a write past the end of `%s`", name_);
  }

  /// Notes the fault if `address` is one that this piece forbids.
  bool explain(const char* address) const {
    if (address < mapped_ || address >= mapped_ + GUARD_BYTES * 2 + open_bytes_) return false;
    if (address < data_)
      note_fault("an access %zu bytes before the start of `%s`", std::size_t(data_ - address), name_);
    else if (address >= data_ + bytes_)
      note_fault("an access %zu bytes past the end of `%s`", std::size_t(address - data_ - long(bytes_)), name_);
    else
      note_fault("a write to `%s`, which is only to be read, at byte %zu", name_, std::size_t(address - data_));
    return true;
  }

 private:
  const char* name_;
  std::size_t bytes_;
  std::size_t open_bytes_;  // the whole pages that hold the piece
  char* mapped_;
  char* open_;
  char* data_;
};

inline void on_forbidden_access(int, siginfo_t* info, void*) {
  const char* address = static_cast<const char*>(info->si_addr);
  bool known = false;
  for (const Guarded* piece : all_guarded) known = known || piece->explain(address);
  if (!known) note_fault("an access to %p, which is in no array (or a stack that overflowed)", info->si_addr);
  if (running == nullptr) {
    fprintf(stderr, "outside of any kernel: %s\n", fault.c_str());
    _exit(3);
  }
  Fiber::abandon();
}

/// Turns forbidden accesses into faults; once, before the first launch.
inline void watch_memory() {
  static char stack[64 << 10];  // the fiber's own stack may be what overflowed
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_forbidden_access;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // the handler does not return
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace emu
