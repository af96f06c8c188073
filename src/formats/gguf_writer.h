// Writes GGUF version 3: for tests, and for tools that make model files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/types.h"
#include "realizar/result.h"

namespace realizar {

class GgufWriter {
 public:
  void add_bool(std::string_view key, bool value);
  void add_u32(std::string_view key, uint32_t value);
  void add_i32(std::string_view key, int32_t value);
  void add_f32(std::string_view key, float value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, const std::vector<std::string>& values);
  void add_bools(std::string_view key, const std::vector<bool>& values);
  void add_u8s(std::string_view key, const std::vector<uint8_t>& values);
  void add_u32s(std::string_view key, const std::vector<uint32_t>& values);
  void add_i32s(std::string_view key, const std::vector<int32_t>& values);
  void add_f32s(std::string_view key, const std::vector<float>& values);

  // Adds an entry as stored in another file: its type's number, then the value.
  void add_stored(std::string_view key, std::span<const std::byte> value);

  // `shape`: outermost first; `data`: its bytes in the type's own layout.
  void add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape, std::vector<std::byte> data);
  // Adds a tensor from floats, encoded.
  void add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape, const std::vector<float>& values);
  // Adds a tensor from a function that fills `out` with its bytes from `offset` on. It is called while the file is
  // written, piece by piece, so that a model larger than memory can be written.
  using TensorSource = std::function<void(uint64_t offset, std::span<std::byte> out)>;
  void add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape, TensorSource source);

  // A tensor whose bytes are written separately after the header (tools/gguf_stream.h).
  void announce_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape);

  // The size of all tensors' data, without the header.
  uint64_t tensor_bytes() const;
  std::vector<uint64_t> tensor_sizes() const;  // in bytes, in the order of adding
  // Everything before the first tensor. Each tensor begins at a multiple of kGgufDefaultAlignment.
  std::vector<std::byte> header() const;
  // The following two need a source for every tensor.
  std::vector<std::byte> bytes() const;
  // Errors: InvalidArgument (cannot write).
  Status write(const std::filesystem::path& path) const;

 private:
  struct Tensor {
    std::string name;
    TypeId type;
    std::vector<uint64_t> shape;
    uint64_t n_bytes;
    TensorSource source;
  };
  using Sink = std::function<void(std::span<const std::byte>)>;

  void emit(const Sink& sink) const;
  void begin_entry(std::string_view key, uint32_t type);

  uint64_t n_entries_ = 0;
  std::vector<std::byte> entries_;
  std::vector<Tensor> tensors_;
};

}  // namespace realizar
