// The constants of GGUF that its reader and writer share (ggml/docs/gguf.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace realizar {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersionMin = 2;  // version 1 had 32-bit lengths
inline constexpr uint32_t kGgufVersionMax = 3;
inline constexpr uint64_t kGgufDefaultAlignment = 32;
inline constexpr uint32_t kGgufMaxDims = 4;
inline constexpr uint64_t kGgufMaxKeyBytes = 65535;
inline constexpr uint64_t kGgufMaxTensorNameBytes = 64;
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";
// In each part of a split file that realizar writes: a text shared only by parts of one set.
inline constexpr std::string_view kGgufSetKey = "split.set_id";

enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

}  // namespace realizar
