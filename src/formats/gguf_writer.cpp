#include "formats/gguf_writer.h"

#include <cstring>
#include <fstream>

#include "formats/gguf_format.h"

namespace realizar {
namespace {

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

void pad(std::vector<std::byte>& out) {
  out.resize((out.size() + kGgufDefaultAlignment - 1) / kGgufDefaultAlignment * kGgufDefaultAlignment);
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

void GgufWriter::add_i32s(std::string_view key, const std::vector<int32_t>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kInt32, values);
}

void GgufWriter::add_f32s(std::string_view key, const std::vector<float>& values) {
  begin_entry(key, number(GgufValueType::kArray));
  put_array(entries_, GgufValueType::kFloat32, values);
}

void GgufWriter::add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape,
                            std::vector<std::byte> data) {
  tensors_.push_back({std::string(name), type, std::move(shape), std::move(data)});
}

void GgufWriter::add_tensor(std::string_view name, TypeId type, std::vector<uint64_t> shape,
                            const std::vector<float>& values) {
  std::vector<std::byte> data(row_bytes(traits(type), values.size()));
  traits(type).encode(values.data(), data.data(), values.size());
  add_tensor(name, type, std::move(shape), std::move(data));
}

std::vector<std::byte> GgufWriter::bytes() const {
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
    offset = (offset + tensor.data.size() + kGgufDefaultAlignment - 1) / kGgufDefaultAlignment * kGgufDefaultAlignment;
  }
  for (const Tensor& tensor : tensors_) {
    pad(out);
    put_bytes(out, tensor.data.data(), tensor.data.size());
  }
  pad(out);
  return out;
}

Status GgufWriter::write(const std::filesystem::path& path) const {
  const std::vector<std::byte> all = bytes();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  out.close();
  return out ? Status{} : Status(invalid_argument("cannot write " + path.string(), path.string()));
}

}  // namespace realizar
