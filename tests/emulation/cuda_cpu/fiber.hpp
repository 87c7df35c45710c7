// Fibers: functions that can be left in the middle and gone on with later, each on a stack of its own.
//
// A CUDA thread of the emulated block is one fiber; the scheduler (block.hpp) is the program's own stack. Only the first
// entry into a fiber goes through the ucontext functions, because those make system calls to keep the signal mask; after
// it, every change of stack is a _setjmp and a _longjmp. A fiber is made once and then runs the kernel for one thread of
// one block after the other: when the kernel returns, the fiber pauses in `enter` and is ready for the next.
#pragma once

#undef _FORTIFY_SOURCE  // the checked longjmp refuses to go to another stack
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <ucontext.h>

namespace emu {

constexpr std::size_t STACK_BYTES = 64 << 10;
constexpr std::size_t STACK_GUARD = 16 << 10;  // a multiple of every usual page size

class Fiber;
inline jmp_buf scheduler_place;    // where the scheduler waits for the running fiber to pause
inline Fiber* running = nullptr;   // the fiber that runs, if any
inline void (*fiber_work)() = nullptr;  // what a fiber does between two times it is idle

/// How control came back to the scheduler.
enum class Return { Paused = 1, Abandoned = 2 };

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;  // a ucontext_t points into itself
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    if (stack_ != nullptr) munmap(stack_, STACK_GUARD + STACK_BYTES);
  }

  /// Scheduler only: goes on with the fiber until it pauses or is abandoned.
  __attribute__((noinline)) Return resume() {
    running = this;
    if (stack_ == nullptr) allocate();
    const int back = _setjmp(scheduler_place);
    if (back == 0) go();
    running = nullptr;
    return back == int(Return::Paused) ? Return::Paused : Return::Abandoned;
  }

  /// Running fiber only: back to the scheduler, until it resumes this fiber.
  __attribute__((noinline)) static void pause() {
    if (_setjmp(running->place_) == 0) _longjmp(scheduler_place, int(Return::Paused));
  }

  /// Running fiber only, from a signal handler too: back to the scheduler for good. What the fiber was doing is lost.
  [[noreturn]] static void abandon() {
    running->started_ = false;
    _longjmp(scheduler_place, int(Return::Abandoned));
  }

  /// Scheduler only: forgets what the paused fiber was doing.
  void reset() { started_ = false; }

 private:
  [[noreturn]] void go() {
    if (started_) _longjmp(place_, 1);
    started_ = true;
    getcontext(&first_);
    first_.uc_stack.ss_sp = stack_ + STACK_GUARD;
    first_.uc_stack.ss_size = STACK_BYTES;
    first_.uc_link = nullptr;
    makecontext(&first_, enter, 0);
    setcontext(&first_);
    abort();
  }

  static void enter() {
    for (;;) {
      fiber_work();
      pause();
    }
  }

  void allocate() {
    void* memory = mmap(nullptr, STACK_GUARD + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, STACK_GUARD, PROT_NONE) != 0) {
      perror("stack of a fiber");
      exit(3);
    }
    stack_ = static_cast<char*>(memory);
  }

  char* stack_ = nullptr;
  bool started_ = false;
  ucontext_t first_;
  jmp_buf place_;
};

}  // namespace emu
