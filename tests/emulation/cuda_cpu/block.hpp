// One block at a time: its threads as fibers, and what they do together.
//
// A thread runs until it needs others: at a barrier, at a shuffle or another operation of its warp, or at its end. Lanes
// that wait for their warp are let go when none of them can run any further, and warps run one after the other, each to the
// next barrier; so threads and warps get as far ahead of the others as CUDA allows, and what is read without a barrier is not
// there yet. Where nobody can be let go, the block has a fault: a deadlock, or threads at different barriers. CUDA would hang
// or do anything; here it is told.
#pragma once

#include <deque>

#include "fiber.hpp"
#include "memory.hpp"

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace emu {

constexpr unsigned WARP = 32;

/// A copy that was asked for and has not landed.
struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

enum class State { Ready, AtBarrier, AtWarp, Done };

struct Thread {
  Fiber fiber;
  State state;
  uint3 index;
  int line;  // where it waits
  // At an operation of the warp: who takes part, what it gives, from which lane it takes (all WARP lanes: none).
  unsigned mask;
  unsigned from_lane;
  unsigned char value[16];
  unsigned char received[16];
  // Asynchronous copies: groups that were closed, oldest first, and the one that is open.
  std::deque<std::vector<Copy>> groups;
  std::vector<Copy> open;
};

inline std::deque<Thread> threads;   // those of the block are the first `thread_count`
inline std::size_t thread_count = 0;
inline std::size_t current = 0;      // the thread that runs
inline void (*kernel_call)(const void*) = nullptr;
inline const void* kernel_arguments = nullptr;
inline Guarded* dynamic_shared = nullptr;

/// A fault found by the running thread.
template <class... Arguments> [[noreturn]] void fail(const char* format, Arguments... arguments) {
  note_fault(format, arguments...);
  Fiber::abandon();
}

inline void run_thread() {
  kernel_call(kernel_arguments);
  threads[current].state = State::Done;
}

inline void wait_as(State state, int line) {
  threads[current].state = state;
  threads[current].line = line;
  Fiber::pause();
}

inline void barrier(int line) { wait_as(State::AtBarrier, line); }

/// Meets the lanes of `mask`, gives them `value` and takes that of `from_lane`; poison if that lane does not take part.
inline void meet_warp(unsigned mask, const void* value, void* received, std::size_t bytes, unsigned from_lane, int line) {
  Thread& me = threads[current];
  if ((mask >> current % WARP & 1) == 0) fail("line %d: lane %u is not in its own mask %#x", line, unsigned(current % WARP), mask);
  me.mask = mask;
  me.from_lane = from_lane;
  memcpy(me.value, value, bytes);
  wait_as(State::AtWarp, line);
  memcpy(received, me.received, bytes);
}

/// Lets the lanes go that thread `first` waits for, if they are all there. Notes a fault if they never will be.
inline bool release_warp(std::size_t first) {
  const Thread& asks = threads[first];
  const std::size_t start = first / WARP * WARP;
  for (unsigned lane = 0; lane < WARP && start + lane < thread_count; lane++) {
    const Thread& other = threads[start + lane];
    if ((asks.mask >> lane & 1) == 0) continue;
    if (other.state == State::Done) {
      note_fault("line %d: a warp waits for lane %u, which has exited", asks.line, lane);
      return false;
    }
    if (other.state != State::AtWarp) return false;
    if (other.line != asks.line || other.mask != asks.mask) {
      note_fault("lanes of a warp wait for each other at lines %d (mask %#x) and %d (mask %#x)", asks.line, asks.mask,
                 other.line, other.mask);
      return false;
    }
  }
  for (unsigned lane = 0; lane < WARP && start + lane < thread_count; lane++) {
    if ((asks.mask >> lane & 1) == 0) continue;
    Thread& taker = threads[start + lane];
    const std::size_t giver = start + taker.from_lane;
    if (taker.from_lane < WARP && giver < thread_count && (asks.mask >> taker.from_lane & 1) != 0)
      memcpy(taker.received, threads[giver].value, sizeof taker.received);
    else
      poison(taker.received, sizeof taker.received);
    taker.state = State::Ready;
  }
  return true;
}

/// Lets threads at a barrier go once no warp can run. Notes a fault if that cannot be.
inline void release() {
  std::size_t done = 0, at_barrier = 0, waiting = 0;
  for (std::size_t i = 0; i < thread_count; i++) {
    done += threads[i].state == State::Done;
    at_barrier += threads[i].state == State::AtBarrier;
    if (threads[i].state == State::AtBarrier) waiting = i;
  }
  if (at_barrier + done < thread_count) {
    note_fault("deadlock: %zu threads wait at a barrier (line %d) and %zu for their warp", at_barrier,
               threads[waiting].line, thread_count - at_barrier - done);
  } else if (done > 0) {
    note_fault("line %d: %zu threads wait at a barrier that %zu others have exited without reaching",
               threads[waiting].line, at_barrier, done);
  }
  for (std::size_t i = 0; i < thread_count; i++) {
    if (threads[i].state == State::Done) continue;
    if (threads[i].line != threads[waiting].line)
      note_fault("threads wait at different barriers: lines %d and %d", threads[i].line, threads[waiting].line);
    threads[i].state = State::Ready;
  }
}

/// Runs the warp whose first thread is `start` until its threads wait at a barrier, or are done, or cannot be let go.
inline void run_warp(std::size_t start) {
  const std::size_t lanes = thread_count - start < WARP ? thread_count - start : WARP;
  for (bool any = true; any && fault.empty();) {
    for (std::size_t i = 0; i < lanes && fault.empty(); i++) {
      current = start + (mode.descending ? lanes - 1 - i : i);
      Thread& t = threads[current];
      if (t.state != State::Ready) continue;
      threadIdx = t.index;
      t.fiber.resume();
    }
    any = false;
    for (std::size_t i = start; i < start + lanes && fault.empty(); i++)
      if (threads[i].state == State::AtWarp) any = release_warp(i) || any;
  }
}

/// Runs the block `blockIdx`; stops at the first fault.
inline void run_block() {
  thread_count = std::size_t(blockDim.x) * blockDim.y * blockDim.z;
  while (threads.size() < thread_count) threads.emplace_back();
  for (std::size_t i = 0; i < thread_count; i++) {
    Thread& t = threads[i];
    t.state = State::Ready;
    t.index = {unsigned(i % blockDim.x), unsigned(i / blockDim.x % blockDim.y), unsigned(i / blockDim.x / blockDim.y)};
    t.groups.clear();
    t.open.clear();
  }
  const std::size_t warps = (thread_count + WARP - 1) / WARP;
  for (bool all_done = false; !all_done && fault.empty();) {
    for (std::size_t w = 0; w < warps && fault.empty(); w++) run_warp((mode.descending ? warps - 1 - w : w) * WARP);
    all_done = true;
    for (std::size_t i = 0; i < thread_count; i++) all_done = all_done && threads[i].state == State::Done;
    if (!all_done && fault.empty()) release();
  }
  if (!fault.empty())
    for (std::size_t i = 0; i < thread_count; i++) threads[i].fiber.reset();
}

/// Runs `kernel()`, a call of a kernel, for every thread of the grid; returns whether no fault was found.
template <class Call> bool launch(dim3 grid, dim3 block, std::size_t shared_bytes, const Call& kernel) {
  fault.clear();
  gridDim = grid;
  blockDim = block;
  fiber_work = run_thread;
  kernel_call = [](const void* call) { (*static_cast<const Call*>(call))(); };
  kernel_arguments = &kernel;
  Guarded shared("shared memory", shared_bytes);
  dynamic_shared = &shared;
  const std::size_t blocks = std::size_t(grid.x) * grid.y * grid.z;
  for (std::size_t i = 0; i < blocks && fault.empty(); i++) {
    const std::size_t b = mode.descending ? blocks - 1 - i : i;
    blockIdx = {unsigned(b % grid.x), unsigned(b / grid.x % grid.y), unsigned(b / grid.x / grid.y)};
    shared.poison();
    run_block();
    shared.check_surroundings();
  }
  dynamic_shared = nullptr;
  if (!fault.empty())
    fault += " (block " + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
             std::to_string(blockIdx.z) + ")";
  return fault.empty();
}

}  // namespace emu
