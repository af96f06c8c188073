#include "backend/kv_types.h"

#include <string>

namespace realizar {

Result<size_t> kv_vector_bytes(KvType kv_type, uint32_t dim) {
  const TypeTraits& type = kv_traits(kv_type);
  if (dim % type.block_elems != 0) {
    return unsupported("a KV cache of type " + std::string(type.name) + " needs a head_dim of a multiple of " +
                           std::to_string(type.block_elems) + "; this model's is " + std::to_string(dim),
                       "kv_type");
  }
  return row_bytes(type, dim);
}

Result<size_t> kv_cache_bytes(const KvLayout& layout) {
  RZ_TRY(size_t bytes, kv_vector_bytes(layout.type, layout.head_dim));
  for (const uint32_t factor : {2u, layout.n_layers, layout.n_kv_heads, layout.block_tokens, layout.n_blocks}) {
    if (__builtin_mul_overflow(bytes, size_t{factor}, &bytes)) {
      return Error{ErrorCode::kResourceExhausted, "the KV cache would be larger than the address space", "ctx"};
    }
  }
  return bytes;
}

}  // namespace realizar
