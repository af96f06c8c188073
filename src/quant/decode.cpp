#include <cmath>
#include <cstring>

#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/half.h"

namespace realizar {
namespace {

template <class Block, int kElems, class DecodeBlock>
void for_blocks(const std::byte* src, float* dst, size_t n, DecodeBlock decode_block) {
  for (size_t i = 0; i < n; i += kElems, src += sizeof(Block), dst += kElems) {
    Block block;  // a copy, since blocks of odd size lie unaligned
    std::memcpy(&block, src, sizeof block);
    decode_block(block, dst);
  }
}

int low_nibble(uint8_t byte) {
  return byte & 15;
}
int high_nibble(uint8_t byte) {
  return byte >> 4;
}

// The four-bit value of element i of a small block.
int nibble(const uint8_t* qs, int i) {
  return i < 16 ? low_nibble(qs[i]) : high_nibble(qs[i - 16]);
}

int fifth_bit(const uint8_t* qh, int i) {
  return ((qh[i / 8] >> (i % 8)) & 1) << 4;
}

// The four-bit value of element l of sub-block s of Q4_K and Q5_K.
int k_nibble(const uint8_t* qs, int s, int l) {
  const uint8_t byte = qs[32 * (s / 2) + l];
  return s % 2 == 0 ? low_nibble(byte) : high_nibble(byte);
}

// 2^(e - 128): the doubled values of kE2M1Doubled take half the scale.
float mxfp4_half_scale(uint8_t e) {
  return std::ldexp(1.0f, e - 128);
}

}  // namespace

void decode_f32(const std::byte* src, float* dst, size_t n) {
  std::memcpy(dst, src, n * sizeof(float));
}

void decode_f16(const std::byte* src, float* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Half bits;
    std::memcpy(&bits, src + 2 * i, sizeof bits);
    dst[i] = fp16_to_float(bits);
  }
}

void decode_bf16(const std::byte* src, float* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, src + 2 * i, sizeof bits);
    dst[i] = bf16_to_float(bits);
  }
}

void decode_f8_e4m3(const std::byte* src, float* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) dst[i] = f8_e4m3_to_float(std::to_integer<uint8_t>(src[i]));
}

void decode_q4_0(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ4_0, kBlockElems>(src, dst, n, [](const BlockQ4_0& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(nibble(b.qs, i) - 8);
  });
}

void decode_q4_1(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ4_1, kBlockElems>(src, dst, n, [](const BlockQ4_1& b, float* x) {
    const float d = fp16_to_float(b.d), m = fp16_to_float(b.m);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(nibble(b.qs, i)) + m;
  });
}

void decode_q5_0(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ5_0, kBlockElems>(src, dst, n, [](const BlockQ5_0& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>((nibble(b.qs, i) | fifth_bit(b.qh, i)) - 16);
  });
}

void decode_q5_1(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ5_1, kBlockElems>(src, dst, n, [](const BlockQ5_1& b, float* x) {
    const float d = fp16_to_float(b.d), m = fp16_to_float(b.m);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(nibble(b.qs, i) | fifth_bit(b.qh, i)) + m;
  });
}

void decode_q8_0(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ8_0, kBlockElems>(src, dst, n, [](const BlockQ8_0& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(b.qs[i]);
  });
}

void decode_iq4_nl(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockIQ4_NL, kBlockElems>(src, dst, n, [](const BlockIQ4_NL& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(kIq4Values[nibble(b.qs, i)]);
  });
}

void decode_mxfp4(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockMXFP4, kBlockElems>(src, dst, n, [](const BlockMXFP4& b, float* x) {
    const float d = mxfp4_half_scale(b.e);
    for (int i = 0; i < kBlockElems; ++i) x[i] = d * static_cast<float>(kE2M1Doubled[nibble(b.qs, i)]);
  });
}

void decode_q2_k(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ2_K, kSuperBlockElems>(src, dst, n, [](const BlockQ2_K& b, float* x) {
    const float d = fp16_to_float(b.d), dmin = fp16_to_float(b.dmin);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const int h = i / 128, j = i % 128 / 32, l = i % 32, s = i / 16;
      const int q = (b.qs[32 * h + l] >> (2 * j)) & 3;
      const float scale = d * static_cast<float>(low_nibble(b.scales[s]));
      const float min = dmin * static_cast<float>(high_nibble(b.scales[s]));
      x[i] = scale * static_cast<float>(q) - min;
    }
  });
}

void decode_q3_k(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ3_K, kSuperBlockElems>(src, dst, n, [](const BlockQ3_K& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const int h = i / 128, j = i % 128 / 32, l = i % 32;
      const int low = (b.qs[32 * h + l] >> (2 * j)) & 3;
      const int high = (b.hmask[l] >> (4 * h + j)) & 1;
      x[i] = d * static_cast<float>(q3_k_scale(b.scales, i / 16)) * static_cast<float>((low | (high << 2)) - 4);
    }
  });
}

void decode_q4_k(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ4_K, kSuperBlockElems>(src, dst, n, [](const BlockQ4_K& b, float* x) {
    const float d = fp16_to_float(b.d), dmin = fp16_to_float(b.dmin);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const ScaleMin sm = q4_k_scale_min(b.scales, i / 32);
      x[i] = d * sm.scale * static_cast<float>(k_nibble(b.qs, i / 32, i % 32)) - dmin * sm.min;
    }
  });
}

void decode_q5_k(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ5_K, kSuperBlockElems>(src, dst, n, [](const BlockQ5_K& b, float* x) {
    const float d = fp16_to_float(b.d), dmin = fp16_to_float(b.dmin);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const int s = i / 32, l = i % 32;
      const ScaleMin sm = q4_k_scale_min(b.scales, s);
      const int q = k_nibble(b.qs, s, l) | (((b.qh[l] >> s) & 1) << 4);
      x[i] = d * sm.scale * static_cast<float>(q) - dmin * sm.min;
    }
  });
}

void decode_q6_k(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockQ6_K, kSuperBlockElems>(src, dst, n, [](const BlockQ6_K& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const int h = i / 128, j = i % 128 / 32, l = i % 32;
      const uint8_t byte = b.ql[64 * h + 32 * (j & 1) + l];
      const int low = j < 2 ? low_nibble(byte) : high_nibble(byte);
      const int high = (b.qh[32 * h + l] >> (2 * j)) & 3;
      const int8_t scale = b.scales[i / 16];
      x[i] = d * static_cast<float>(scale) * static_cast<float>((low | (high << 4)) - 32);
    }
  });
}

void decode_iq4_xs(const std::byte* src, float* dst, size_t n) {
  for_blocks<BlockIQ4_XS, kSuperBlockElems>(src, dst, n, [](const BlockIQ4_XS& b, float* x) {
    const float d = fp16_to_float(b.d);
    for (int i = 0; i < kSuperBlockElems; ++i) {
      const int s = i / 32;
      const float level = kIq4Values[nibble(b.qs + 16 * s, i % 32)];
      x[i] = d * static_cast<float>(iq4_xs_scale(b, s)) * level;
    }
  });
}

}  // namespace realizar
