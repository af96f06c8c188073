// CUDA features that kernels use, under names that also exist without CUDA: the tests compile the same kernels for the
// processor, where an emulator (tests/support/cuda_emulator.h) runs the threads of a block. Features that a processor
// lacks are small functions here, with counterparts in the emulator.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/grid.h"
#include "quant/block_scales.h"
#include "quant/half.h"
#include "quant/point_grids.h"
#include "quant/type_table.h"

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define RZ_KERNEL __global__
// RZ_KERNEL for at most n_threads threads per block, with registers for at least n_blocks blocks per multiprocessor.
#define RZ_KERNEL_WITHIN(n_threads, n_blocks) __global__ __launch_bounds__(n_threads, n_blocks)
#define RZ_DEVICE __device__ __forceinline__
// Before a loop whose body is not to be duplicated.
#define RZ_NO_UNROLL _Pragma("unroll 1")
// Before a table of constants.
#define RZ_TABLE [[maybe_unused]] static __constant__ constexpr
// An array in the block's shared memory; uninitialized, aligned for copies and loads of 16 bytes.
#define RZ_SHARED(type, name, count) __shared__ __align__(16) type name[count]
// Before a loop over arrays that must stay in registers, if the compiler does not unroll it by itself.
#define RZ_UNROLL _Pragma("unroll")

namespace realizar::cuda {

// In the namespace of nvcc's kernels, since the emulator has a function of this name in the same program.
namespace runtime {

template <class Args>
void launch(void (*kernel)(Args), Grid grid, uint32_t n_threads, const Args& args, void* stream) {
  if (stream == load_only_stream()) {
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, kernel);
    return;
  }
  require_launchable(grid, n_threads);
  kernel<<<dim3(grid.x, grid.y), n_threads, 0, static_cast<cudaStream_t>(stream)>>>(args);
}

}  // namespace runtime

RZ_DEVICE uint32_t thread_idx() {
  return threadIdx.x;
}
RZ_DEVICE uint32_t n_block_threads() {
  return blockDim.x;
}
RZ_DEVICE uint32_t block_x() {
  return blockIdx.x;
}
RZ_DEVICE uint32_t block_y() {
  return blockIdx.y;
}

// For all threads of the block that still run.
RZ_DEVICE void barrier() {
  __syncthreads();
}

// Over the 32 lanes of a warp, all of which must call. Additions are in butterfly order: lanes 16 apart first.
RZ_DEVICE float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
RZ_DEVICE float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
// One bit per lane.
RZ_DEVICE uint32_t warp_ballot(bool x) {
  return __ballot_sync(0xffffffffu, x ? 1 : 0);
}
RZ_DEVICE uint32_t count_bits(uint32_t x) {
  return static_cast<uint32_t>(__popc(x));
}
// The value of the lane whose index differs in these bits.
RZ_DEVICE float warp_exchange(float x, uint32_t bits) {
  return __shfl_xor_sync(0xffffffffu, x, static_cast<int>(bits));
}
// Makes writes of any lane before this visible to all lanes after it.
RZ_DEVICE void warp_barrier() {
  __syncwarp();
}
// The value of the given lane.
RZ_DEVICE uint32_t warp_broadcast(uint32_t x, uint32_t lane) {
  return __shfl_sync(0xffffffffu, x, static_cast<int>(lane));
}
// The largest value over the lanes and its index; the lowest index on ties.
RZ_DEVICE void warp_argmax(float* value, uint32_t* index) {
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, *value, step);
    const uint32_t other_index = __shfl_xor_sync(0xffffffffu, *index, step);
    if (other > *value || (other == *value && other_index < *index)) {
      *value = other;
      *index = other_index;
    }
  }
}

// The bytes of a (0 to 3) and b (4 to 7) selected by the four nibbles of `places`, each less than 8.
RZ_DEVICE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t places) {
  return __byte_perm(a, b, places);
}

// Over the four lanes 4g to 4g + 3, which share a row of the matrix products below: (0 + 1) + (2 + 3).
RZ_DEVICE float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
RZ_DEVICE float quad_max(float x) {
  for (int step = 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// sum + the four products of the signed bytes of a and b.
RZ_DEVICE int32_t dot4(int32_t a, int32_t b, int32_t sum) {
  return __dp4a(a, b, sum);
}

// c (16x8, int32) = start + a (16x32, int8, rows) . b (32x8, int8, columns), distributed over the lanes of a warp as
// for mma.m16n8k32 (PTX manual): lane l, with g = l / 4 and t = l % 4, holds of a the 4-byte words t and t + 4 of rows
// g and g + 8 (a[0] row g word t, a[1] row g + 8 word t, a[2] row g word t + 4, a[3] row g + 8 word t + 4), of b the
// words t and t + 4 of column g, and of c the columns 2t and 2t + 1 of row g, then of row g + 8.
RZ_DEVICE void mma_int8_k32(int32_t (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int32_t start) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(start));
}
// mma_int8_k32 over 16 columns of a: only words t.
RZ_DEVICE void mma_int8_k16(int32_t (&c)[4], const uint32_t (&a)[2], uint32_t b, int32_t start) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b), "r"(start));
}

// c (16x8, F32) += a (16x16, rows) . b (16x8, columns) of F16 or bf16, two per word; mma.m16n8k16: with g and t as
// above, a[0] row g columns 2t and 2t + 1, a[1] row g + 8, a[2] and a[3] the same 8 columns further; b[0] column g rows
// 2t and 2t + 1, b[1] 8 rows further; c as above.
RZ_DEVICE void mma_half_k16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
RZ_DEVICE void mma_bfloat_k16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Copies 16 aligned bytes from device memory to shared memory; visible to this thread after it has waited, and to other
// threads after a further barrier.
RZ_DEVICE void copy_async16(void* shared, const void* global) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
// Ends a group of this thread's copies.
RZ_DEVICE void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most the last `n` groups are pending.
template <int n>
RZ_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

// Loads four matrices of 8 rows of 16 bytes from shared memory: lane l passes the address of row l % 8 of matrix l / 8,
// and gets 4-byte word l % 4 of row l / 4 of each.
RZ_DEVICE void load_matrices(uint32_t (&words)[4], const uint32_t* row) {
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(from)
               : "memory");
}

RZ_DEVICE float half_to_float(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
RZ_DEVICE uint16_t float_to_half(float x) {
  return __half_as_ushort(__float2half_rn(x));
}
RZ_DEVICE float bfloat_to_float(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}
RZ_DEVICE uint16_t float_to_bfloat(float x) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

RZ_DEVICE uint32_t float_bits(float x) {
  return __float_as_uint(x);
}
RZ_DEVICE float float_of_bits(uint32_t bits) {
  return __uint_as_float(bits);
}

// Adds to a number in shared memory and returns the previous value.
RZ_DEVICE uint32_t shared_add(uint32_t* number, uint32_t n) {
  return atomicAdd(number, n);
}

// The signed bytes in bits 0 to 7 and 8 to 15 as a pair of F16, or of bf16: exact. A byte plus 128 becomes the low bits
// of a number whose last place is 1, and a subtraction removes the rest.
RZ_DEVICE uint32_t codes_to_halves(uint32_t codes) {
  const uint32_t biased = __byte_perm(codes ^ 0x8080u, 0x64u, 0x4140);  // 1024 + 128 + code
  const __half2 pair = __hsub2(*reinterpret_cast<const __half2*>(&biased),
                               __halves2half2(__ushort_as_half(0x6480), __ushort_as_half(0x6480)));
  return *reinterpret_cast<const uint32_t*>(&pair);
}
RZ_DEVICE uint32_t codes_to_bfloats(uint32_t codes) {
  constexpr uint32_t kBase = 0x4b000000u;  // 2^23
  const float low = __uint_as_float(kBase | ((codes ^ 0x80u) & 0xffu)) - 8388736.0f;
  const float high = __uint_as_float(kBase | ((codes >> 8 ^ 0x80u) & 0xffu)) - 8388736.0f;
  return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
}

// The E4M3 codes in bits 0 to 7 and 8 to 15 as a pair of F16: exact. Without an instruction for it, the bits are
// shifted to their positions in F16, which gives 2^-8 of the value.
RZ_DEVICE uint32_t f8_to_halves(uint32_t codes) {
#if __CUDA_ARCH__ >= 890
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(codes)));
  return halves;
#else
  const uint32_t apart = __byte_perm(codes, 0, 0x1404);
  const uint32_t bits = (apart & 0x80008000u) | ((apart >> 1) & 0x3f803f80u);
  const __half2 pair = __hmul2(*reinterpret_cast<const __half2*>(&bits),
                               __halves2half2(__ushort_as_half(0x5c00), __ushort_as_half(0x5c00)));
  return *reinterpret_cast<const uint32_t*>(&pair);
#endif
}

// Rounds to the nearest integer, ties to even.
RZ_DEVICE int32_t round_to_int(float x) {
  return __float2int_rn(x);
}

// An aligned load or store of 16 bytes.
struct alignas(16) Words4 {
  uint32_t word[4];
};
RZ_DEVICE Words4 load_words4(const uint32_t* from) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(from));
  return {{v.x, v.y, v.z, v.w}};
}
// An aligned load or store of 8 bytes.
struct alignas(8) Words2 {
  uint32_t word[2];
};
RZ_DEVICE Words2 load_words2(const uint32_t* from) {
  const uint2 v = __ldg(reinterpret_cast<const uint2*>(from));
  return {{v.x, v.y}};
}

RZ_DEVICE void store_words4(uint32_t* to, const Words4& words) {
  *reinterpret_cast<uint4*>(to) = make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
}

// For blocks that share work: one thread of each calls arrive() after a barrier, and gets the number of blocks that
// arrived before. The last block may then, after another barrier, read all blocks' results with load_fresh().
RZ_DEVICE uint32_t arrive(uint32_t* counter) {
  __threadfence();
  const uint32_t n_before = atomicAdd(counter, 1);
  __threadfence();
  return n_before;
}
RZ_DEVICE float load_fresh(const float* from) {
  return __ldcg(from);
}

}  // namespace realizar::cuda

#else

#include "support/cuda_emulator.h"

#endif
