// Element types of the KV cache: storage of one head's vector at one position.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "base/check.h"
#include "quant/types.h"

namespace realizar {

inline constexpr KvType kKvTypes[] = {KvType::kF32,  KvType::kF16, KvType::kBF16,
                                      KvType::kQ8_0, KvType::kF8,  KvType::kQ4_0};

inline const TypeTraits& kv_traits(KvType type) {
  switch (type) {
    case KvType::kF32:
      return traits(TypeId::kF32);
    case KvType::kF16:
      return traits(TypeId::kF16);
    case KvType::kBF16:
      return traits(TypeId::kBF16);
    case KvType::kQ8_0:
      return traits(TypeId::kQ8_0);
    case KvType::kF8:
      return traits(TypeId::kF8_E4M3);
    case KvType::kQ4_0:
      return traits(TypeId::kQ4_0);
  }
  check_failed("a KvType is one of the enumerators", __FILE__, __LINE__);
}

// Bytes of a head's key or value at one position. Errors: Unsupported if `dim` is not a multiple of the type's block.
Result<size_t> kv_vector_bytes(KvType type, uint32_t dim);
// Estimated bytes of a cache that is not created yet; a backend may pad its vectors.
uint64_t cache_bytes(const CacheLayout& layout);

}  // namespace realizar
