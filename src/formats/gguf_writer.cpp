#include "formats/gguf_writer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/files.h"
#include "base/try.h"
#include "formats/gguf_format.h"

namespace realizar {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;

void put_bytes(std::vector<std::byte>& out, const void* data, size_t n) {
  const size_t begin = out.size();
  out.resize(begin + n);
  if (n > 0) std::memcpy(out.data() + begin, data, n);
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  put_bytes(out, &value, sizeof value);
}

void put_string(std::vector<std::byte>& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  put_bytes(out, text.data(), text.size());
}

uint64_t aligned(uint64_t n) {
  return (n + kGgufDefaultAlignment - 1) / kGgufDefaultAlignment * kGgufDefaultAlignment;
}

uint32_t number(GgufValueType type) {
  return static_cast<uint32_t>(type);
}

template <class T>
void put_array(std::vector<std::byte>& out, GgufValueType type, const std::vector<T>& values) {
  put(out, number(type));
  put<uint64_t>(out, values.size());
  for (const T& value : values) put(out, value);
}

}  // namespace

void GgufWriter::begin_entry(std::string_view key, uint32_t type) {
  ++n_entries_;
  put_string(entries_, key);
  put(entries_, type);
}

void GgufWriter::add_bool(std::string_view key, bool value) {
  begin_entry(key, number(GgufValueType::kBool));
  put<uint8_t>(entries_, value ? 1 : 0);
}

void GgufWriter::add_u32(std::string_view key, uint32_t value) {
  begin_entry(key, number(GgufValueType::kUint32));
  put(entries_, value);
}

void GgufWriter::add_i32(std::string_view key, int32_t value) {
  begin_entry(key, number(GgufValueType::kInt32));
  put(entries_, value);
}

void GgufWriter::add_f32(std::string_view key, float value) {
  begin_entry(key, number(GgufValueType::kFloat32));
  put(entries_, value);
}

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  begin_entry(key, number(GgufValueType::kString));
  put_string(entries_, value);
}

void GgufWriter::add_strings(std::string_view key, const std::vector<std::string>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put(entries_, number(GgufValueType::kString));
  put<uint64_t>(entries_, values.size());
  for (const std::string& value : values) put_string(entries_, value);
}

void GgufWriter::add_bools(std::string_view key, const std::vector<bool>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kBool, std::vector<uint8_t>(values.begin(), values.end()));
}

void GgufWriter::add_u8s(std::string_view key, const std::vector<uint8_t>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kUint8, values);
}

void GgufWriter::add_u32s(std::string_view key, const std::vector<uint32_t>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kUint32, values);
}

void GgufWriter::add_i32s(std::string_view key, const std::vector<int32_t>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kInt32, values);
}

void GgufWriter::add_f32s(std::string_view key, const std::vector<float>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kFloat32, values);
}

void GgufWriter::add_stored(std::string_view key, std::span<const std::byte> value) {
  ++n_entries_;
  put_string(entries_, key);
  put_bytes(entries_, value.data(), value.size());
}

void GgufWriter::add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape,
                            std::vector<std::byte> data) {
  const uint64_t n_bytes = data.size();
  auto copy_out = [data = std::move(data)](uint64_t offset, std::span<std::byte> out) {
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
  };
  tensors_.push_back({std::string(name), type, std::move(shape), n_bytes, std::move(copy_out)});
}

void GgufWriter::add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape,
                            const std::vector<float>& values) {
  std::vector<std::byte> data(row_bytes(traits(type), values.size()));
  traits(type).encode(values.data(), data.data(), values.size());
  add_tensor(name, type, std::move(shape), std::move(data));
}

void GgufWriter::add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape, TensorSource source) {
  uint64_t n_elems = 1;
  for (const uint64_t dim : shape) n_elems *= dim;
  const uint64_t n_bytes = row_bytes(traits(type), n_elems);
  tensors_.push_back({std::string(name), type, std::move(shape), n_bytes, std::move(source)});
}

void GgufWriter::announce_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape) {
  add_tensor(name, type, std::move(shape), TensorSource());
}

std::vector<std::byte> GgufWriter::header() const {
  std::vector<std::byte> out;
  put_bytes(out, kGgufMagic.data(), kGgufMagic.size());
  put(out, kGgufVersionMax);
  put<uint64_t>(out, tensors_.size());
  put(out, n_entries_);
  put_bytes(out, entries_.data(), entries_.size());
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    put_string(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.shape.size()));
    for (size_t i = tensor.shape.size(); i-- > 0;) put(out, tensor.shape[i]);
    put(out, static_cast<uint32_t>(tensor.type));
    put(out, offset);
    offset = aligned(offset + tensor.n_bytes);
  }
  out.resize(aligned(out.size()));
  return out;
}

void GgufWriter::emit(const Sink& sink) const {
  sink(header());
  std::vector<std::byte> piece;
  for (const Tensor& tensor : tensors_) {
    REQUIRE(tensor.source);
    for (uint64_t offset = 0; offset < tensor.n_bytes; offset += piece.size()) {
      piece.resize(std::min(kPieceBytes, tensor.n_bytes - offset));
      tensor.source(offset, piece);
      sink(piece);
    }
    sink(std::vector<std::byte>(aligned(tensor.n_bytes) - tensor.n_bytes));
  }
}

uint64_t GgufWriter::tensor_bytes() const {
  uint64_t n_bytes = 0;
  for (const Tensor& tensor : tensors_) n_bytes += tensor.n_bytes;
  return n_bytes;
}

std::vector<uint64_t> GgufWriter::tensor_sizes() const {
  std::vector<uint64_t> sizes;
  for (const Tensor& tensor : tensors_) sizes.push_back(tensor.n_bytes);
  return sizes;
}

std::vector<std::byte> GgufWriter::bytes() const {
  std::vector<std::byte> all;
  emit([&](std::span<const std::byte> piece) { put_bytes(all, piece.data(), piece.size()); });
  return all;
}

Status GgufWriter::write(const std::filesystem::path& path) const {
  RZ_TRY(NewFile out, NewFile::create(path));
  Status status;
  emit([&](std::span<const std::byte> piece) {
    if (status.ok()) status = out.write(piece);
  });
  RZ_CHECK_OK(status);
  return out.commit();
}

}  // namespace realizar
