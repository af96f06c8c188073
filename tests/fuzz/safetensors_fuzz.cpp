// Any bytes as a SafeTensors file: an error, or tensors that fill the end of the bytes in order.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "formats/safetensors_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = parse_safetensors(bytes, "m.safetensors");
  if (!file.ok()) return 0;
  for (const TensorInfo& tensor : file->tensors) {
    if (tensor.data.size() != row_bytes(traits(tensor.type), tensor.n_elems())) std::abort();
    volatile std::byte last = tensor.data.back();
    (void)last;
  }
  return 0;
}
