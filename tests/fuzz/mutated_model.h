// Model files for fuzz targets of the code after the file readers: the input's bytes are edits of a small model of any
// architecture that loads. So a file is nearly always well formed, and its faults can only be detected with knowledge
// of the model: types and shapes of tensors, missing tensors, counts in the keys.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/reference/reference_backend.h"
#include "base/try.h"
#include "formats/gguf_writer.h"
#include "formats/model_file.h"
#include "model/model.h"
#include "support/tiny_model.h"

namespace realizar::fuzz {

// Choices of the fuzzer, one after the other; the first option when its bytes are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : left_(data, size) {}

  bool is_over() const { return left_.empty(); }
  uint8_t byte() {
    if (left_.empty()) return 0;
    const uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  // Below n, which must be between 1 and 65536.
  size_t below(size_t n) { return (n > 256 ? byte() * size_t{256} + byte() : byte()) % n; }
  template <class List>
  const auto& of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::span<const uint8_t> left_;
};

struct MutatedTensor {
  std::string name;
  TypeId type = TypeId::kF32;
  std::vector<uint64_t> shape;
  std::vector<float> values;

  uint64_t n_elems() const {
    uint64_t n = 1;
    for (const uint64_t size : shape) n *= size;
    return n;
  }
};

class MutatedModel {
 public:
  explicit MutatedModel(Choices& choices) : choices_(choices) {
    const auto all = all_architectures();
    const size_t arch = choices.below(all.size());
    const uint8_t kind = choices.byte();
    const bool with_experts = kind % 2 == 1 && all[arch]->moe != MoeRule::kNone;
    static std::map<std::pair<size_t, bool>, test::TinyModel> made;
    auto found = made.find({arch, with_experts});
    if (found == made.end()) {
      found = made.emplace(std::pair(arch, with_experts), test::tiny_model(*all[arch], with_experts)).first;
    }
    constexpr TypeId kTypes[] = {TypeId::kF32, TypeId::kF16, TypeId::kBF16, TypeId::kQ8_0};
    keys_ = found->second.keys;
    for (const test::TinyTensor& t : found->second.tensors) {
      const bool is_matrix = t.shape.size() > 1 && t.name.ends_with(".weight");
      tensors_.push_back({t.name, is_matrix ? kTypes[kind / 2 % 4] : TypeId::kF32, t.shape, t.values});
    }
    constexpr int kMostEdits = 12;
    for (int i = 0; i < kMostEdits && !choices.is_over(); ++i) edit();
  }

  const std::vector<MutatedTensor>& tensors() const { return tensors_; }

  // A file with only the keys.
  GgufWriter keys() const {
    test::TinyModel model;
    model.keys = keys_;
    return model.writer();
  }
  // Rows that are not a whole number of the type's blocks have another type, since no file can store them.
  static void add_tensor(GgufWriter& writer, const MutatedTensor& tensor) {
    const bool fits = !tensor.shape.empty() && tensor.shape.back() % traits(tensor.type).block_elems == 0;
    std::vector<float> values(tensor.n_elems());
    for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.values[i % tensor.values.size()];
    writer.add_tensor(tensor.name, fits ? tensor.type : TypeId::kF32, tensor.shape, values);
  }
  void write(const std::filesystem::path& path) const {
    GgufWriter writer = keys();
    for (const MutatedTensor& tensor : tensors_) add_tensor(writer, tensor);
    if (!writer.write(path).ok()) std::abort();
  }

 private:
  void edit() {
    const uint8_t what = choices_.byte() % 10;
    if (what >= 7) return edit_key(what - 7);
    if (tensors_.empty()) return;
    const size_t at = choices_.below(tensors_.size());
    MutatedTensor& tensor = tensors_[at];
    switch (what) {
      case 0:
        set_type(tensor);
        break;
      case 1:
      case 2:
        set_shape(tensor);
        break;
      case 3:
        tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 4:
        set_name(tensor);
        break;
      case 5:
        set_value(tensor);
        break;
      default:
        std::swap(tensor, tensors_[choices_.below(tensors_.size())]);
    }
  }

  void set_type(MutatedTensor& tensor) {
    std::vector<TypeId> types;
    for (const TypeTraits& type : all_types()) {
      if (is_in_gguf(type.id)) types.push_back(type.id);
    }
    tensor.type = choices_.of(types);
  }

  void set_shape(MutatedTensor& tensor) {
    constexpr uint64_t kMostElems = 1 << 16;
    std::vector<uint64_t> shape = tensor.shape;
    const uint8_t how = choices_.byte() % 8;
    if (how == 0) {
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(choices_.below(shape.size() + 1)), 1);
    } else if (how == 1) {
      shape.push_back(1 + choices_.below(3));
    } else if (!shape.empty()) {
      uint64_t& size = shape[choices_.below(shape.size())];
      const std::array<uint64_t, 7> sizes = {size + 1, size > 1 ? size - 1 : 1, 2 * size, (size + 1) / 2, 1, 3, 256};
      if (how == 2) std::swap(size, shape.back());
      if (how == 3) shape.pop_back();
      if (how > 3) size = choices_.of(sizes);
    }
    const MutatedTensor changed{"", tensor.type, shape, {}};
    constexpr size_t kMostDims = 4;
    if (!shape.empty() && shape.size() <= kMostDims && changed.n_elems() <= kMostElems) tensor.shape = shape;
  }

  void set_name(MutatedTensor& tensor) {
    const std::string other = choices_.of(tensors_).name;
    const std::string names[] = {other, "blk.7." + tensor.name, tensor.name + "_unknown",
                                 tensor.name.substr(0, tensor.name.rfind('.')) + ".bias",
                                 tensor.name.substr(0, tensor.name.rfind('.')) + ".scale"};
    const std::string name = choices_.of(names);
    if (std::ranges::find(tensors_, name, &MutatedTensor::name) == tensors_.end()) tensor.name = name;
  }

  void set_value(MutatedTensor& tensor) {
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 70000,
                                 -1e7f,
                                 1e30f,
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::denorm_min(),
                                 0};
    tensor.values[choices_.below(std::min<size_t>(tensor.values.size(), 65536))] = choices_.of(kValues);
  }

  void edit_key(int how) {
    if (keys_.empty()) return;
    const auto at = std::next(keys_.begin(), static_cast<std::ptrdiff_t>(choices_.below(keys_.size())));
    if (how == 0) {
      keys_.erase(at);
      return;
    }
    if (at->first == "general.architecture") return;  // only tools accept a model of an unknown architecture
    const auto* number = std::get_if<uint32_t>(&at->second);
    const uint32_t own = number == nullptr ? 1 : *number;
    const uint32_t counts[] = {0, own + 1, own - 1, 2 * own, own / 2, 3, 7, 1u << 16, 1u << 31, 0xffffffffu};
    if (how == 1) {
      at->second = choices_.of(counts);
      return;
    }
    const uint8_t kind = choices_.byte() % 4;
    if (kind == 0) at->second = -1.5f;
    if (kind == 1) at->second = std::string("a word");
    if (kind == 2) at->second = std::vector<int32_t>{static_cast<int32_t>(own), -1, 0};
    if (kind == 3) at->second = true;
  }

  Choices& choices_;
  std::map<std::string, test::TinyValue> keys_;
  std::vector<MutatedTensor> tensors_;
};

// A folder for this process's files, in memory if possible.
class Folder {
 public:
  explicit Folder(const char* name) {
    const std::filesystem::path memory = "/dev/shm";
    const auto parent = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    std::string pattern = (parent / (std::string(name) + "_XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_, ignored_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  void clear() {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove_all(entry.path(), ignored_);
    }
  }
  size_t n_entries() const {
    const std::filesystem::directory_iterator begin(path_);
    return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
  std::error_code ignored_;
};

// Whether `run` would load the model.
inline Status load(const std::filesystem::path& path) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  const auto backend = make_reference_backend();
  RZ_CHECK_OK(backend->configure({.max_rows = 8, .max_logit_rows = 8, .max_context = 64}));
  RZ_CHECK_OK(Model::load(file, *backend));
  return {};
}

[[noreturn]] inline void fail(const std::string& why, const std::string& details) {
  std::fputs(fmt::format("{}: {}\n", why, details).c_str(), stderr);
  std::abort();
}

inline bool is_of_values(const Error& error) {
  return error.message.find("holds NaN") != std::string::npos;
}

// A tool's result compared with that of `run` (`source`): it refuses the same models, and with the same messages,
// except for values that are not numbers, which `run` finds earlier.
inline void judge_refusal(const Status& source, const Error& error) {
  const bool is_told = error.code == ErrorCode::kFormatError || error.code == ErrorCode::kUnsupported ||
                       error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidArgument;
  if (!is_told || error.message.empty()) fail("refused without a reason", error.message);
  if (source.ok() || is_of_values(source.error())) return;
  if (error.message != source.error().message) {
    fail("refused in other words than by run", error.message + "\n  run: " + source.error().message);
  }
}

inline void judge_file(const Status& source, const std::filesystem::path& made) {
  if (!source.ok()) fail("taken, though run refuses it", source.error().message);
  if (const Status loaded = load(made); !loaded.ok()) fail("made a file that run refuses", loaded.error().message);
}

}  // namespace realizar::fuzz
