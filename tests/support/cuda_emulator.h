// Runs kernels of backend/cuda on the processor: each thread of a block is a fiber, and the fibers of a block take
// turns on one thread. If CUDA leaves an order undefined, the emulator has several, so that a result that depends on
// one shows. It ends the test program, with a message, if threads wait at different barriers, if only some lanes of a
// warp call an exchange, if a recording has a kernel that was not loaded before, and (under ASan) if memory is overrun:
// every shared array and every device buffer is a separate heap block, filled with NaN. It does not detect races
// between blocks, bank conflicts, or low speed.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cuda/kernels/grid.h"
#include "quant/half.h"
#include "support/counted_new.h"

#define RZ_KERNEL
#define RZ_KERNEL_WITHIN(n_threads, n_blocks)
#define RZ_DEVICE inline
#define RZ_NO_UNROLL
#define RZ_TABLE [[maybe_unused]] constexpr
#define RZ_UNROLL
#define RZ_SHARED(type, name, count) \
  static const char name##_tag = 0;  \
  type* const name = static_cast<type*>(::realizar::cuda::emulator::shared(&name##_tag, sizeof(type) * (count)))

namespace realizar::cuda {

namespace emulator {

enum class ThreadOrder { kRising, kFalling, kShuffled };

// Runs body() once per thread of every block.
void run(Grid grid, uint32_t n_threads, const std::function<void()>& body);
// Launches to be run later: the target of a stream that records.
using Recording = std::vector<std::function<void()>>;
// Kernels whose code is on a device: a recorded launch must not be the first of its kernel.
void note_loaded(const void* kernel);
bool is_loaded(const void* kernel);
// Sets how the threads of a block take turns.
void set_thread_order(ThreadOrder order);

struct ThreadPlace {
  uint32_t thread, block_x, block_y, n_threads;
};
const ThreadPlace& here();
void* shared(const void* tag, size_t n_bytes);
void wait_for_block();
// Copies that arrive at the wait, or at once if threads take turns from the last to the first.
void copy_async(void* to, const void* from, size_t n_bytes);
void commit_copies();
void wait_for_copies(uint32_t n_groups);
// Passes `n_bytes` to the warp and waits until all lanes have: [32] of them in the order of lanes. Valid until the next
// exchange.
const std::byte* exchange(const void* value, size_t n_bytes);

template <class T>
const T* exchange(const T& value) {
  return reinterpret_cast<const T*>(exchange(&value, sizeof value));
}

}  // namespace emulator

template <class Args>
void launch(void (*kernel)(Args), Grid grid, uint32_t n_threads, const Args& args, void* stream) {
  const test::DeviceWork work;
  const auto code = reinterpret_cast<const void*>(kernel);
  if (stream == load_only_stream()) return emulator::note_loaded(code);
  require_launchable(grid, n_threads);
  const auto run = [=] { emulator::run(grid, n_threads, [&] { kernel(args); }); };
  if (stream == nullptr) return run();
  REQUIRE(emulator::is_loaded(code));
  static_cast<emulator::Recording*>(stream)->push_back(run);
}

inline uint32_t thread_idx() {
  return emulator::here().thread;
}
inline uint32_t n_block_threads() {
  return emulator::here().n_threads;
}
inline uint32_t block_x() {
  return emulator::here().block_x;
}
inline uint32_t block_y() {
  return emulator::here().block_y;
}
inline void barrier() {
  emulator::wait_for_block();
}

// The butterfly of the shuffles, as seen by this lane: values[i] is that of the lane whose number differs in i.
template <class T, class Merge>
T butterfly(const T& own, const Merge& merge, uint32_t first_step = 16) {
  const T* lanes = emulator::exchange(own);
  T values[32];
  const uint32_t lane = thread_idx() % 32;
  for (uint32_t i = 0; i < 2 * first_step; ++i) values[i] = lanes[lane ^ i];
  for (uint32_t step = first_step; step > 0; step /= 2) {
    for (uint32_t i = 0; i < step; ++i) values[i] = merge(values[i], values[i ^ step]);
  }
  return values[0];
}
inline float warp_sum(float x) {
  return butterfly(x, [](float a, float b) { return a + b; });
}
inline float warp_max(float x) {
  return butterfly(x, [](float a, float b) { return b > a || std::isnan(a) ? b : a; });
}
inline uint32_t warp_ballot(bool x) {
  const uint32_t* lanes = emulator::exchange(uint32_t{x});
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) bits |= lanes[lane] << lane;
  return bits;
}
inline uint32_t count_bits(uint32_t x) {
  return static_cast<uint32_t>(std::popcount(x));
}
inline float warp_exchange(float x, uint32_t bits) {
  return emulator::exchange(x)[(thread_idx() % 32) ^ bits];
}
inline void warp_barrier() {
  emulator::exchange(uint32_t{0});
}
inline float quad_sum(float x) {
  x += warp_exchange(x, 1);
  return x + warp_exchange(x, 2);
}
inline float quad_max(float x) {
  return butterfly(
      x, [](float a, float b) { return std::fmax(a, b); }, 2);
}
inline uint32_t warp_broadcast(uint32_t x, uint32_t lane) {
  return emulator::exchange(x)[lane];
}
inline void warp_argmax(float* value, uint32_t* index) {
  struct Best {
    float value;
    uint32_t index;
  };
  const Best best = butterfly(Best{*value, *index}, [](Best a, Best b) {
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
  });
  *value = best.value;
  *index = best.index;
}

inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t places) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<uint32_t>((bytes >> (8 * ((places >> (4 * i)) & 7))) & 255) << (8 * i);
  }
  return result;
}

inline int32_t dot4(int32_t a, int32_t b, int32_t sum) {
  for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(a >> (8 * i)) * static_cast<int8_t>(b >> (8 * i));
  return sum;
}

// The fragments of mma.m16n8k32 and mma.m16n8k16, as device_code.h describes them.
inline void mma_int8_k16(int32_t (&c)[4], const uint32_t (&a)[2], uint32_t b, int32_t start) {
  struct Fragment {
    uint32_t a[2], b;
  };
  const Fragment* lanes = emulator::exchange(Fragment{{a[0], a[1]}, b});
  const uint32_t lane = thread_idx() % 32, group = lane / 4, t = lane % 4;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t column = 2 * t + i % 2;
    c[i] = start;
    for (uint32_t word = 0; word < 4; ++word) {
      c[i] = dot4(static_cast<int32_t>(lanes[4 * group + word].a[i / 2]),
                  static_cast<int32_t>(lanes[4 * column + word].b), c[i]);
    }
  }
}
inline void mma_int8_k32(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int32_t start) {
  int32_t second[4];
  mma_int8_k16(c, {a[0], a[1]}, b[0], start);
  mma_int8_k16(second, {a[2], a[3]}, b[1], 0);
  for (uint32_t i = 0; i < 4; ++i) c[i] += second[i];
}

// The fragments of mma.m16n8k16 for two elements per word. A GPU adds the products in a different order, and may
// truncate where this rounds to nearest.
template <class ToFloat>
void mma_k16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], const ToFloat& to_float) {
  struct Fragment {
    uint32_t a[4], b[2];
  };
  const Fragment* lanes = emulator::exchange(Fragment{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}});
  const uint32_t lane = thread_idx() % 32, group = lane / 4, t = lane % 4;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t column = 2 * t + i % 2;
    for (uint32_t k = 0; k < 16; ++k) {
      const uint32_t word = k % 8 / 2, shift = 16 * (k % 2);
      const uint32_t x = lanes[4 * group + word].a[i / 2 + k / 8 * 2] >> shift;
      const uint32_t y = lanes[4 * column + word].b[k / 8] >> shift;
      c[i] = std::fma(to_float(static_cast<uint16_t>(x)), to_float(static_cast<uint16_t>(y)), c[i]);
    }
  }
}
inline void mma_half_k16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  mma_k16(c, a, b, fp16_to_float);
}
inline void mma_bfloat_k16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  mma_k16(c, a, b, bf16_to_float);
}

inline void copy_async16(void* shared, const void* global) {
  emulator::copy_async(std::assume_aligned<16>(shared), std::assume_aligned<16>(global), 16);
}
inline void commit_copies() {
  emulator::commit_copies();
}
template <int n>
void wait_for_copies() {
  emulator::wait_for_copies(n);
}

struct alignas(16) Words4 {
  uint32_t word[4];
};
inline Words4 load_words4(const uint32_t* from) {
  return *std::assume_aligned<16>(reinterpret_cast<const Words4*>(from));
}
struct alignas(8) Words2 {
  uint32_t word[2];
};
inline Words2 load_words2(const uint32_t* from) {
  return *std::assume_aligned<8>(reinterpret_cast<const Words2*>(from));
}
inline void load_matrices(uint32_t (&words)[4], const uint32_t* row) {
  const Words4* rows = emulator::exchange(load_words4(row));
  const uint32_t lane = thread_idx() % 32;
  for (uint32_t i = 0; i < 4; ++i) words[i] = rows[8 * i + lane / 4].word[lane % 4];
}

inline float half_to_float(uint16_t bits) {
  return fp16_to_float(bits);
}
inline uint16_t float_to_half(float x) {
  return float_to_fp16(x);
}
inline float bfloat_to_float(uint16_t bits) {
  return bf16_to_float(bits);
}
inline uint16_t float_to_bfloat(float x) {
  return float_to_bf16(x);
}
inline uint32_t float_bits(float x) {
  return std::bit_cast<uint32_t>(x);
}
inline float float_of_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
// Threads of a block take turns, so this is one step for all others.
inline uint32_t shared_add(uint32_t* number, uint32_t n) {
  return std::exchange(*number, *number + n);
}
inline uint32_t codes_to_halves(uint32_t codes) {
  const auto half = [](uint32_t code) { return uint32_t{float_to_fp16(static_cast<int8_t>(code))}; };
  return half(codes) | half(codes >> 8) << 16;
}
inline uint32_t codes_to_bfloats(uint32_t codes) {
  const auto bfloat = [](uint32_t code) { return uint32_t{float_to_bf16(static_cast<int8_t>(code))}; };
  return bfloat(codes) | bfloat(codes >> 8) << 16;
}
inline uint32_t f8_to_halves(uint32_t codes) {
  const auto half = [](uint32_t code) { return uint32_t{float_to_fp16(f8_e4m3_to_float(static_cast<uint8_t>(code)))}; };
  return half(codes) | half(codes >> 8) << 16;
}
inline int32_t round_to_int(float x) {
  return static_cast<int32_t>(std::nearbyintf(x));
}

inline void store_words4(uint32_t* to, const Words4& words) {
  *std::assume_aligned<16>(reinterpret_cast<Words4*>(to)) = words;
}

// Blocks run one after the other.
inline uint32_t arrive(uint32_t* counter) {
  return (*counter)++;
}
inline float load_fresh(const float* from) {
  return *from;
}

}  // namespace realizar::cuda
