// Peaks of the device: memory copies, and products in registers.

constexpr uint32_t kPeakThreads = 256;
constexpr uint32_t kPeakBlocks = 2048;
constexpr uint32_t kPeakTiles = 4;  // independent products per warp

RZ_KERNEL void copy_kernel(CopyArgs a) {
  const uint64_t n_threads = uint64_t{kPeakBlocks} * kPeakThreads;
  for (uint64_t i = uint64_t{block_x()} * kPeakThreads + thread_idx(); i < a.n_quads; i += n_threads) {
    const Words4 four = load_words4(a.from + 4 * i);
    store_words4(a.to + 4 * i, four);
  }
}

// The sums are written only if they have an impossible value, so that no product can be optimized away.
RZ_KERNEL void multiply_bfloats_kernel(MultiplyArgs a) {
  float sums[kPeakTiles][4] = {};
  const uint32_t x = 0x3f803f80u + thread_idx();
  for (uint32_t i = 0; i < a.n_rounds; ++i) {
    for (uint32_t t = 0; t < kPeakTiles; ++t) mma_bfloat_k16(sums[t], {x, x + i, x, x}, {x + t, x});
  }
  for (uint32_t t = 0; t < kPeakTiles; ++t) {
    if (sums[t][0] == -1.0f) *a.out = sums[t][1];
  }
}
RZ_KERNEL void multiply_bytes_kernel(MultiplyArgs a) {
  int32_t sums[kPeakTiles][4] = {};
  const uint32_t x = 0x01010101u * (thread_idx() % 8);
  for (uint32_t i = 0; i < a.n_rounds; ++i) {
    for (uint32_t t = 0; t < kPeakTiles; ++t) mma_int8_k32(sums[t], {x, x + i, x, x}, {x + t, x}, sums[t][1]);
  }
  for (uint32_t t = 0; t < kPeakTiles; ++t) {
    if (sums[t][0] == -1) *a.out = static_cast<float>(sums[t][1]);
  }
}

void copy(const CopyArgs& a, Stream stream) {
  launch(copy_kernel, {kPeakBlocks, 1}, kPeakThreads, a, stream);
}

uint64_t multiply(const MultiplyArgs& a, Stream stream) {
  launch(a.is_int8 ? multiply_bytes_kernel : multiply_bfloats_kernel, {kPeakBlocks, 1}, kPeakThreads, a, stream);
  return uint64_t{kPeakBlocks} * (kPeakThreads / 32) * kPeakTiles * a.n_rounds;
}
