#include "tools/gguf_keys.h"

#include <algorithm>

namespace realizar {
namespace {

struct Adder {
  GgufWriter& writer;
  const std::string& key;

  void operator()(bool value) const { writer.add_bool(key, value); }
  void operator()(uint32_t value) const { writer.add_u32(key, value); }
  void operator()(int32_t value) const { writer.add_i32(key, value); }
  void operator()(float value) const { writer.add_f32(key, value); }
  void operator()(const std::string& value) const { writer.add_string(key, value); }
  void operator()(const std::vector<bool>& values) const { writer.add_bools(key, values); }
  void operator()(const std::vector<int32_t>& values) const { writer.add_i32s(key, values); }
  void operator()(const std::vector<uint32_t>& values) const { writer.add_u32s(key, values); }
  void operator()(const std::vector<float>& values) const { writer.add_f32s(key, values); }
  void operator()(const std::vector<std::string>& values) const { writer.add_strings(key, values); }
  void operator()(const std::vector<uint8_t>& values) const { writer.add_u8s(key, values); }
};

template <class Read, class Stored>
MetaArray array_of(const std::vector<Stored>& values) {
  return std::vector<Read>(values.begin(), values.end());
}

struct Reader {
  MetaValue operator()(bool value) const { return value; }
  MetaValue operator()(uint32_t value) const { return uint64_t{value}; }
  MetaValue operator()(int32_t value) const { return int64_t{value}; }
  MetaValue operator()(float value) const { return double{value}; }
  MetaValue operator()(const std::string& value) const { return value; }
  MetaValue operator()(const std::vector<bool>& values) const { return MetaArray(values); }
  MetaValue operator()(const std::vector<int32_t>& values) const { return array_of<int64_t>(values); }
  MetaValue operator()(const std::vector<uint32_t>& values) const { return array_of<uint64_t>(values); }
  MetaValue operator()(const std::vector<float>& values) const { return array_of<double>(values); }
  MetaValue operator()(const std::vector<std::string>& values) const { return array_of<std::string_view>(values); }
  MetaValue operator()(const std::vector<uint8_t>& values) const { return array_of<uint64_t>(values); }
};

}  // namespace

void GgufKeys::set(std::string key, GgufValue value) {
  const auto found = std::ranges::find(entries_, key, &std::pair<std::string, GgufValue>::first);
  if (found != entries_.end()) {
    found->second = std::move(value);
  } else {
    entries_.emplace_back(std::move(key), std::move(value));
  }
}

const GgufValue* GgufKeys::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &std::pair<std::string, GgufValue>::first);
  return found == entries_.end() ? nullptr : &found->second;
}

void GgufKeys::add_to(GgufWriter& writer) const {
  for (const auto& [key, value] : entries_) std::visit(Adder{writer, key}, value);
}

Metadata GgufKeys::metadata() const {
  Metadata metadata;
  for (const auto& [key, value] : entries_) metadata.set(key, std::visit(Reader{}, value));
  return metadata;
}

}  // namespace realizar
