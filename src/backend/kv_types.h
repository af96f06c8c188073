// Element types of the KV cache: how a head's vector of one position is stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/backend.h"
#include "base/check.h"
#include "quant/types.h"

namespace realizar {

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
  }
  check_failed("a KvType is one of the enumerators", __FILE__, __LINE__);
}

// Errors: Unsupported where a head is not a whole number of the type's blocks; ResourceExhausted where the size
// overflows. Gives the bytes of one head's vector of one position.
Result<size_t> kv_vector_bytes(const KvLayout& layout);
// Bytes of the whole cache, keys and values.
Result<size_t> kv_cache_bytes(const KvLayout& layout);

}  // namespace realizar
