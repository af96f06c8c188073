// Any bytes as a GGUF file: an error, or tensors within the bytes and metadata that can be printed.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>

#include "formats/gguf_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = parse_gguf(bytes, "m.gguf");
  if (!file.ok()) return 0;
  for (const auto& [key, value] : file->metadata.entries()) (void)to_string(value);
  for (const TensorInfo& tensor : file->tensors) {
    const std::byte* end = tensor.data.data() + tensor.data.size();
    if (std::less<>()(tensor.data.data(), bytes.data()) || std::less<>()(bytes.data() + size, end)) std::abort();
    if (tensor.data.size() != row_bytes(traits(tensor.type), tensor.n_elems())) std::abort();
  }
  return 0;
}
