// CUDA C on a CPU, for tests: the words that emitted kernels use, with the meaning that CUDA gives them.
//
// Include this before the text of a kernel, and the text compiles as C++17. It takes the place of the preludes (it defines
// SG_PRELUDE and SG_PRELUDE_HALF), so that what reaches the machine through inline PTX on a GPU is done here by helpers
// of the same names and signatures. A kernel is launched with emu::launch; see cuda_cpu/block.hpp for what is
// detected in a block, cuda_cpu/memory.hpp for arrays whose bounds are watched, cuda_cpu/half.hpp for numbers of 16 bits.
//
// Not covered: function-local `__shared__` arrays are not poisoned between blocks (dynamic shared memory is), and races
// are found by running threads in two extreme orders, not by watching every access.
//
// Include standard headers before this one: it defines `__noinline__`, which they use otherwise.
#pragma once

#include <cmath>
#include <math.h>

#include "cuda_cpu/block.hpp"
#include "cuda_cpu/half.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static  // one block runs at a time
#define __constant__ static

#define __syncthreads() emu::barrier(__LINE__)

/// Threads run one at a time, so nothing comes between.
inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
  const unsigned long long before = *at;
  if (value < before) *at = value;
  return before;
}

// --- operations of a warp --------------------------------------------------------------------------------------------
// Called through an object, so that a lane knows at which line it waits: lanes that meet at different lines are a fault.
#define __syncwarp emu::AtLine{__LINE__}.sync_warp
#define __shfl_sync emu::AtLine{__LINE__}.shuffle
#define __shfl_up_sync emu::AtLine{__LINE__}.shuffle_up
#define __shfl_down_sync emu::AtLine{__LINE__}.shuffle_down
#define __shfl_xor_sync emu::AtLine{__LINE__}.shuffle_xor

namespace emu {

/// A warp is cut into segments of `width` lanes, a power of two; nothing comes from beyond a segment.
struct AtLine {
  int line;

  void sync_warp(unsigned mask = ~0u) const {
    char nothing;
    meet_warp(mask, &nothing, &nothing, 0, WARP, line);
  }
  template <class V> V shuffle(unsigned mask, V value, int source, int width = 32) const {
    return exchange(mask, value, first(width) | (source & (width - 1)));
  }
  template <class V> V shuffle_up(unsigned mask, V value, unsigned delta, int width = 32) const {
    const int from = lane() - int(delta);
    return exchange(mask, value, from < first(width) ? lane() : from);
  }
  template <class V> V shuffle_down(unsigned mask, V value, unsigned delta, int width = 32) const {
    const int from = lane() + int(delta);
    return exchange(mask, value, from > last(width) ? lane() : from);
  }
  template <class V> V shuffle_xor(unsigned mask, V value, int bits, int width = 32) const {
    const int from = lane() ^ bits;
    return exchange(mask, value, from > last(width) ? lane() : from);
  }

 private:
  static int lane() { return int(current % WARP); }
  static int first(int width) { return lane() & ~(width - 1); }
  static int last(int width) { return lane() | (width - 1); }

  template <class V> V exchange(unsigned mask, V value, int from_lane) const {
    static_assert(sizeof(V) <= sizeof(Thread::value), "a shuffle moves up to 16 bytes");
    V received;
    meet_warp(mask, &value, &received, sizeof(V), unsigned(from_lane), line);
    return received;
  }
};

inline void land(std::vector<Copy>& copies) {
  for (const Copy& copy : copies) memcpy(copy.to, copy.from, copy.bytes);
  copies.clear();
}

}  // namespace emu

// --- in place of the prelude -----------------------------------------------------------------------------------------
#define SG_PRELUDE

#define SG_PRELUDE_STORE

template <class T> void sg_store_streaming(T* to, const T& value) { *to = value; }

inline void* sg_dyn_smem() { return emu::dynamic_shared->as<void>(); }

/// Copies BYTES from global to shared memory, some time between now and the wait for its group. In late mode that is the
/// very end of this time, and what was at the destination is destroyed at once.
template <int BYTES> void sg_cp_async(void* to, const void* from) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "the sizes that the hardware copies");
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % BYTES != 0)
    emu::fail("an asynchronous copy of %d bytes that is not aligned to them", BYTES);
  if (emu::mode.late) {
    emu::poison(to, BYTES);
    emu::threads[emu::current].open.push_back({to, from, BYTES});
  } else {
    memcpy(to, from, BYTES);
  }
}

/// Closes the thread's open group of copies.
inline void sg_cp_async_commit() {
  emu::Thread& me = emu::threads[emu::current];
  me.groups.push_back(std::move(me.open));
  me.open.clear();
}

/// Waits until at most the N newest groups of this thread are still under way.
template <int N> void sg_cp_async_wait() {
  auto& groups = emu::threads[emu::current].groups;
  while (groups.size() > N) {
    emu::land(groups.front());
    groups.pop_front();
  }
}
