// Scalar decode and encode of every type: the specification of what stored bytes mean. See TypeTraits for the contract.
#pragma once

#include <cstddef>

namespace realizar {

void decode_f32(const std::byte* src, float* dst, size_t n);
void decode_f16(const std::byte* src, float* dst, size_t n);
void decode_bf16(const std::byte* src, float* dst, size_t n);
void decode_f8_e4m3(const std::byte* src, float* dst, size_t n);
void decode_q4_0(const std::byte* src, float* dst, size_t n);
void decode_q4_1(const std::byte* src, float* dst, size_t n);
void decode_q5_0(const std::byte* src, float* dst, size_t n);
void decode_q5_1(const std::byte* src, float* dst, size_t n);
void decode_q8_0(const std::byte* src, float* dst, size_t n);
void decode_q2_k(const std::byte* src, float* dst, size_t n);
void decode_q3_k(const std::byte* src, float* dst, size_t n);
void decode_q4_k(const std::byte* src, float* dst, size_t n);
void decode_q5_k(const std::byte* src, float* dst, size_t n);
void decode_q6_k(const std::byte* src, float* dst, size_t n);
void decode_iq4_nl(const std::byte* src, float* dst, size_t n);
void decode_iq4_xs(const std::byte* src, float* dst, size_t n);
void decode_mxfp4(const std::byte* src, float* dst, size_t n);

void encode_f32(const float* src, std::byte* dst, size_t n);
void encode_f16(const float* src, std::byte* dst, size_t n);
void encode_bf16(const float* src, std::byte* dst, size_t n);
void encode_f8_e4m3(const float* src, std::byte* dst, size_t n);
void encode_q4_0(const float* src, std::byte* dst, size_t n);
void encode_q4_1(const float* src, std::byte* dst, size_t n);
void encode_q5_0(const float* src, std::byte* dst, size_t n);
void encode_q5_1(const float* src, std::byte* dst, size_t n);
void encode_q8_0(const float* src, std::byte* dst, size_t n);
void encode_q2_k(const float* src, std::byte* dst, size_t n);
void encode_q3_k(const float* src, std::byte* dst, size_t n);
void encode_q4_k(const float* src, std::byte* dst, size_t n);
void encode_q5_k(const float* src, std::byte* dst, size_t n);
void encode_q6_k(const float* src, std::byte* dst, size_t n);
void encode_iq4_nl(const float* src, std::byte* dst, size_t n);
void encode_iq4_xs(const float* src, std::byte* dst, size_t n);
void encode_mxfp4(const float* src, std::byte* dst, size_t n);

}  // namespace realizar
