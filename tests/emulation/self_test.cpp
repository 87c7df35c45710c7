// Kernels that are right and kernels with one planted fault each, run in both ways; what came of them goes to stdout, a
// line each: `kernel<TAB>late|early<TAB>outcome`. The outcome is `right`, `wrong`, or the fault that was found.
#include <cstdio>
#include <string>
#include <vector>

#include "cuda_cpu.hpp"

namespace {

using emu::Guarded;

constexpr int N = 64;  // threads of a block

struct Arrays {
  Guarded in{"in", N * 4 * sizeof(float)};
  Guarded out{"out", N * sizeof(float)};
  Arrays() {
    for (int i = 0; i < N * 4; i++) in.as<float>()[i] = float(i);
    in.writable(false);
  }
};

/// Whether poison is no number in f32 and f64, in both formats of 16 bits at either place of a word, and quiet, so that sums
/// keep it.
constexpr bool is_nan_everywhere(std::uint32_t poison) {
  const std::uint32_t low = poison & 0xFFFF, high = poison >> 16;
  const auto quiet = [](std::uint32_t bits, std::uint32_t exponent, std::uint32_t first) {
    return (bits & exponent) == exponent && (bits & first) != 0;
  };
  return quiet(poison, 0x7F800000, 1 << 22) && quiet(poison, 0x7FF00000, 1 << 19) && (low & 0x7F80) == 0x7F80 &&
         (low & 0x7F) != 0 && quiet(low, 0x7C00, 1 << 9) && quiet(high, 0x7F80, 1 << 6) && quiet(high, 0x7C00, 1 << 9);
}
static_assert(is_nan_everywhere(emu::LATE.poison) && is_nan_everywhere(emu::EARLY.poison), "poison shows in sums");

constexpr bool differ_in_every_byte(std::uint32_t a, std::uint32_t b) {
  for (int shift = 0; shift < 32; shift += 8)
    if (((a ^ b) >> shift & 0xFF) == 0) return false;
  return true;
}
static_assert(differ_in_every_byte(emu::LATE.poison, emu::EARLY.poison), "narrow cells of poison differ between the modes");

/// Runs `kernel(in, out)` in a block of N threads, both ways; `want(i)` is what out[i] should be.
template <class Kernel, class Want> void play(const char* name, Kernel kernel, Want want, int shared_cells = 4 * N) {
  for (bool late : {true, false}) {
    emu::mode = late ? emu::LATE : emu::EARLY;
    Arrays arrays;
    const float* in = arrays.in.as<float>();
    float* out = arrays.out.as<float>();
    emu::launch(2, N, std::size_t(shared_cells) * sizeof(float), [&] { kernel(in, out); });
    arrays.out.check_surroundings();
    std::string outcome = emu::fault;
    if (outcome.empty()) {
      bool right = true;
      for (int i = 0; i < N; i++) right = right && out[i] == want(i);
      outcome = right ? "right" : "wrong";
    }
    printf("%s\t%s\t%s\n", name, late ? "late" : "early", outcome.c_str());
    fflush(stdout);
  }
}

float* shared() { return static_cast<float*>(sg_dyn_smem()); }
int thread() { return int(threadIdx.x); }

// --- barriers ---
template <bool BARRIER> void reverse(const float* in, float* out) {
  shared()[thread()] = in[thread()];
  if (BARRIER) __syncthreads();
  out[thread()] = shared()[N - 1 - thread()];
}

// What was read must not be overwritten before everybody has read it.
template <bool BARRIER> void reverse_twice(const float* in, float* out) {
  shared()[thread()] = in[thread()];
  __syncthreads();
  const float first = shared()[N - 1 - thread()];
  if (BARRIER) __syncthreads();
  shared()[thread()] = in[thread()] + 100;
  __syncthreads();
  out[thread()] = first + shared()[N - 1 - thread()];
}

// A shuffle is no barrier for other warps.
template <bool BARRIER> void reverse_after_shuffle(const float* in, float* out) {
  shared()[thread()] = __shfl_sync(~0u, in[thread()], thread() % 32);
  const float first = __shfl_sync(~0u, shared()[thread()], thread() % 32) - in[thread()];
  if (BARRIER) __syncthreads();
  out[thread()] = first + shared()[N - 1 - thread()];
}

void exits_before_barrier(const float* in, float* out) {
  out[thread()] = in[thread()];
  if (thread() == 5) return;
  __syncthreads();
}

void different_barriers(const float* in, float* out) {
  out[thread()] = in[thread()];
  if (thread() % 2 == 0)
    __syncthreads();
  else
    __syncthreads();
}

void barrier_against_shuffle(const float* in, float* out) {
  float v = in[thread()];
  if (thread() < 3)
    __syncthreads();
  else
    v = __shfl_sync(~0u, v, 0);
  out[thread()] = v;
}

// --- operations of a warp ---
void shuffles(const float* in, float* out) {
  const float v = in[thread()];
  float sum = __shfl_sync(~0u, v, 7);
  sum += 100 * __shfl_up_sync(~0u, v, 1);
  sum += 10000 * __shfl_down_sync(~0u, v, 2);
  out[thread()] = sum;
}

float shuffles_wanted(int i) {
  const int lane = i % 32, warp = i - lane;
  return float(warp + 7) + 100 * float(lane == 0 ? i : i - 1) + 10000 * float(lane + 2 > 31 ? i : i + 2);
}

void shuffles_in_segments(const float* in, float* out) {
  const float v = in[thread()];
  const float a = __shfl_up_sync(~0u, v, 3, 8), b = __shfl_down_sync(~0u, v, 3, 8);
  const float c = __shfl_xor_sync(~0u, v, 5, 8), d = __shfl_sync(~0u, v, 11, 8);
  out[thread()] = a + 64 * b + 4096 * (c + 64 * d);
}

float segments_wanted(int i) {
  const int k = i % 8, base = i - k;
  const float a = float(k < 3 ? i : i - 3), b = float(k + 3 > 7 ? i : i + 3);
  return a + 64 * b + 4096 * (float(base + (k ^ 5)) + 64 * float(base + 3));
}

void half_a_warp_each(const float* in, float* out) {
  const bool low = thread() % 32 < 16;
  float v = in[thread()];
  if (low)
    v = __shfl_xor_sync(0x0000ffffu, v, 1);
  else
    v = __shfl_xor_sync(0xffff0000u, v, 2);
  out[thread()] = v;
}

void shuffle_with_exited_lane(const float* in, float* out) {
  out[thread()] = in[thread()];
  if (thread() == 9) return;
  out[thread()] = __shfl_sync(~0u, in[thread()], 0);
}

void shuffle_outside_its_mask(const float* in, float* out) {
  out[thread()] = __shfl_sync(0xffu, in[thread()], 0);
}

void shuffle_from_outside_the_mask(const float* in, float* out) {
  float v = in[thread()];
  if (thread() % 32 < 16) v = __shfl_sync(0xffffu, v, 20);
  out[thread()] = v;
}

void different_shuffles(const float* in, float* out) {
  float v = in[thread()];
  if (thread() % 32 < 16)
    v = __shfl_sync(~0u, v, 0);
  else
    v = __shfl_sync(~0u, v, 0);
  out[thread()] = v;
}

template <bool SYNC> void reverse_in_warp(const float* in, float* out) {
  shared()[thread()] = in[thread()];
  if (SYNC) __syncwarp();
  out[thread()] = shared()[thread() ^ 31];
}

// --- asynchronous copies: out[i] = sum over four planes of the right neighbour, through a ring of buffers ---
template <int WAIT, bool COMMIT = true, bool BARRIER = true> void stream(const float* in, float* out) {
  const int right = (thread() + 1) % N;
  auto load = [&](int plane) {
    sg_cp_async<4>(shared() + plane % 3 * N + thread(), in + plane * N + thread());
    if (COMMIT) sg_cp_async_commit();
  };
  load(0);
  float sum = 0;
  for (int plane = 0; plane < 4; plane++) {
    if (plane < 3) load(plane + 1);
    else sg_cp_async_commit();  // an empty group, so that the waits count alike
    sg_cp_async_wait<WAIT>();
    if (BARRIER) __syncthreads();
    sum += shared()[plane % 3 * N + right];
  }
  out[thread()] = sum;
}

float stream_wanted(int i) {
  const int right = (i + 1) % N;
  return float(4 * right + N * (0 + 1 + 2 + 3));
}

// One buffer: the next plane is asked for while others still read this one.
template <bool BARRIER> void stream_in_place(const float* in, float* out) {
  float sum = 0;
  for (int plane = 0; plane < 4; plane++) {
    sg_cp_async<4>(shared() + thread(), in + plane * N + thread());
    sg_cp_async_commit();
    sg_cp_async_wait<0>();
    __syncthreads();
    sum += shared()[(thread() + 1) % N];
    if (BARRIER) __syncthreads();
  }
  out[thread()] = sum;
}

void copies_of_16(const float* in, float* out) {
  if (thread() < N / 4) sg_cp_async<16>(shared() + 4 * thread(), in + 4 * thread());
  if (thread() < N / 2) sg_cp_async<8>(shared() + N + 2 * thread(), in + N + 2 * thread());
  sg_cp_async_commit();
  sg_cp_async_wait<0>();
  __syncthreads();
  out[thread()] = shared()[thread()] + shared()[N + thread()];
}

void misaligned_copy(const float* in, float* out) {
  sg_cp_async<8>(shared() + thread(), in + thread());
  sg_cp_async_wait<0>();
  out[thread()] = 0;
}

// --- bounds ---
template <int AT> void reads_input(const float* in, float* out) { out[thread()] = thread() == 0 ? in[AT] : 0; }
template <int AT> void writes_output(const float*, float* out) {
  out[thread()] = 0;
  if (thread() == 3) out[AT] = 1;
}
void writes_input(const float* in, float* out) {
  out[thread()] = 0;
  if (thread() == 3) const_cast<float*>(in)[7] = 1;
}
template <int AT> void writes_shared(const float*, float* out) {
  out[thread()] = 0;
  if (thread() == 3) shared()[AT] = 1;
}
void reads_shared_of_the_block_before(const float*, float* out) {
  out[thread()] = shared()[thread()] == 1.0f ? 1 : 0;
  shared()[thread()] = 1;
}
__attribute__((noinline)) int deep(int levels) {
  volatile char frame[256];
  frame[levels % 256] = 1;
  return levels == 0 ? 0 : deep(levels - 1) + frame[levels % 256];
}
void overflows_its_stack(const float*, float* out) { out[thread()] = float(deep(10000)); }

float input(int i) { return float(i); }
float reversed(int i) { return float(N - 1 - i); }
float reversed_twice(int i) { return float(2 * (N - 1 - i) + 100); }
float zero(int) { return 0; }

}  // namespace

int main() {
  emu::watch_memory();
  play("barrier", reverse<true>, reversed);
  play("no barrier", reverse<false>, reversed);
  play("barrier before overwriting", reverse_twice<true>, reversed_twice);
  play("no barrier before overwriting", reverse_twice<false>, reversed_twice);
  play("barrier after a shuffle", reverse_after_shuffle<true>, reversed);
  play("no barrier after a shuffle", reverse_after_shuffle<false>, reversed);
  play("exit before a barrier", exits_before_barrier, input);
  play("different barriers", different_barriers, input);
  play("barrier against shuffle", barrier_against_shuffle, input);
  play("shuffles", shuffles, shuffles_wanted);
  play("shuffles in segments", shuffles_in_segments, segments_wanted);
  play("half a warp each", half_a_warp_each, [](int i) { return float(i % 32 < 16 ? i ^ 1 : i ^ 2); });
  play("shuffle with an exited lane", shuffle_with_exited_lane, input);
  play("shuffle outside its mask", shuffle_outside_its_mask, input);
  play("shuffle from outside the mask", shuffle_from_outside_the_mask, input);
  play("different shuffles", different_shuffles, input);
  play("syncwarp", reverse_in_warp<true>, [](int i) { return float(i ^ 31); });
  play("no syncwarp", reverse_in_warp<false>, [](int i) { return float(i ^ 31); });
  play("stream", stream<1>, stream_wanted);
  play("stream waiting for one group too few", stream<2>, stream_wanted);
  play("stream without commits", stream<1, false>, stream_wanted);
  play("stream without barriers", stream<1, true, false>, stream_wanted);
  play("stream in place", stream_in_place<true>, stream_wanted);
  play("stream in place without the second barrier", stream_in_place<false>, stream_wanted);
  play("copies of 8 and 16 bytes", copies_of_16, [](int i) { return float(2 * i + N); });
  play("misaligned copy", misaligned_copy, zero);
  play("read before the input", reads_input<-1>, zero);
  play("read past the input", reads_input<4 * N>, zero);
  play("write before the output", writes_output<-1>, zero);
  play("write past the output", writes_output<N>, zero);
  play("write to the input", writes_input, zero);
  play("write before shared memory", writes_shared<-1>, zero);
  play("write past shared memory", writes_shared<4 * N>, zero);
  play("write past shared memory of odd size", writes_shared<4 * N + 1>, zero, 4 * N + 1);
  play("read what the block before left", reads_shared_of_the_block_before, zero);
  play("stack overflow", overflows_its_stack, zero);
  play("barrier after all faults", reverse<true>, reversed);
  return 0;
}
