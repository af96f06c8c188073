// A line of config.json, then a SafeTensors file of a quantized model: an error, or matrices that can be unpacked.
#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/hf_config.h"
#include "formats/quantized_tensors.h"
#include "formats/safetensors_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace realizar;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = all.find('\n');
  if (end == std::string_view::npos) return 0;
  const auto config = parse_hf_config(all.substr(0, end), "config.json");
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data) + end + 1, size - end - 1);
  auto file = parse_safetensors(bytes, "m.safetensors");
  if (!config.ok() || !file.ok()) return 0;
  std::vector<std::string> notes;
  if (!bind_packed_matrices(config->metadata, "config.json", file->tensors, file->raws, notes).ok()) return 0;
  for (const TensorInfo& tensor : file->tensors) {
    if (tensor.packed == nullptr) continue;
    std::vector<std::byte> blocks(tensor.n_bytes());
    static_cast<void>(tensor.packed->unpack(0, tensor.n_elems() / tensor.shape.back(), blocks.data()));
  }
  return 0;
}
