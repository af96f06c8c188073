#include "quant/types.h"

#include <array>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/codecs.h"

namespace realizar {
namespace {

constexpr std::array<TypeTraits, 17> kTypes = {{
    {TypeId::kF32, "F32", 1, 4, decode_f32, encode_f32},
    {TypeId::kF16, "F16", 1, 2, decode_f16, encode_f16},
    {TypeId::kQ4_0, "Q4_0", 32, sizeof(BlockQ4_0), decode_q4_0, encode_q4_0},
    {TypeId::kQ4_1, "Q4_1", 32, sizeof(BlockQ4_1), decode_q4_1, encode_q4_1},
    {TypeId::kQ5_0, "Q5_0", 32, sizeof(BlockQ5_0), decode_q5_0, encode_q5_0},
    {TypeId::kQ5_1, "Q5_1", 32, sizeof(BlockQ5_1), decode_q5_1, encode_q5_1},
    {TypeId::kQ8_0, "Q8_0", 32, sizeof(BlockQ8_0), decode_q8_0, encode_q8_0},
    {TypeId::kQ2_K, "Q2_K", 256, sizeof(BlockQ2_K), decode_q2_k, encode_q2_k},
    {TypeId::kQ3_K, "Q3_K", 256, sizeof(BlockQ3_K), decode_q3_k, encode_q3_k},
    {TypeId::kQ4_K, "Q4_K", 256, sizeof(BlockQ4_K), decode_q4_k, encode_q4_k},
    {TypeId::kQ5_K, "Q5_K", 256, sizeof(BlockQ5_K), decode_q5_k, encode_q5_k},
    {TypeId::kQ6_K, "Q6_K", 256, sizeof(BlockQ6_K), decode_q6_k, encode_q6_k},
    {TypeId::kIQ4_NL, "IQ4_NL", 32, sizeof(BlockIQ4_NL), decode_iq4_nl, encode_iq4_nl},
    {TypeId::kIQ4_XS, "IQ4_XS", 256, sizeof(BlockIQ4_XS), decode_iq4_xs, encode_iq4_xs},
    {TypeId::kBF16, "BF16", 1, 2, decode_bf16, encode_bf16},
    {TypeId::kMXFP4, "MXFP4", 32, sizeof(BlockMXFP4), decode_mxfp4, encode_mxfp4},
    {TypeId::kF8_E4M3, "F8_E4M3", 1, 1, decode_f8_e4m3, encode_f8_e4m3},
}};

// Names by number, of the types that exist in GGUF files whether supported here or not; "" where there is none.
constexpr std::array<std::string_view, 41> kNames = {
    "F32",      "F16",    "Q4_0",  "Q4_1", "Q4_2", "Q4_3",    "Q5_0",   "Q5_1",    "Q8_0",  "Q8_1",     "Q2_K",
    "Q3_K",     "Q4_K",   "Q5_K",  "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL",   "IQ3_S",
    "IQ2_S",    "IQ4_XS", "I8",    "I16",  "I32",  "I64",     "F64",    "IQ1_M",   "BF16",  "Q4_0_4_4", "Q4_0_4_8",
    "Q4_0_8_8", "TQ1_0",  "TQ2_0", "",     "",     "",        "MXFP4",  "NVFP4"};

}  // namespace

std::span<const TypeTraits> all_types() {
  return kTypes;
}

const TypeTraits& traits(TypeId id) {
  for (const TypeTraits& type : kTypes) {
    if (type.id == id) return type;
  }
  check_failed("a TypeId is one of the table", __FILE__, __LINE__);
}

std::optional<TypeId> type_from_number(uint32_t ggml_type) {
  for (const TypeTraits& type : kTypes) {
    if (static_cast<uint32_t>(type.id) == ggml_type && is_in_gguf(type.id)) return type.id;
  }
  return std::nullopt;
}

std::string type_name_for_message(uint32_t ggml_type) {
  if (ggml_type < kNames.size() && !kNames[ggml_type].empty()) return std::string(kNames[ggml_type]);
  return "type " + std::to_string(ggml_type);
}

}  // namespace realizar
