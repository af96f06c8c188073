// The tensors of a Hugging Face folder by name, while matrices that consist of several of them are assembled: records
// which tensors were used.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"
#include "formats/packed_matrix.h"
#include "realizar/result.h"

namespace realizar {

struct TensorPart {
  std::string dtype;  // "I32"
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;

  // The type of a part with F32, BF16 or F16.
  TypeId float_type() const;
};

class FolderTensors {
 public:
  // `file` names config.json in errors; it and `config` must outlive this.
  FolderTensors(const Metadata& config, std::string_view file, const std::vector<TensorInfo>& tensors,
                const std::vector<RawTensor>& raws);

  // Null if there is none.
  const TensorPart* find(const std::string& name) const;
  // The names with this suffix, without it.
  std::vector<std::string> bases(std::string_view end) const;
  // A required part with one of these element types, and with this shape if given. Errors: FormatError.
  Result<const TensorPart*> take(const std::string& name, std::initializer_list<std::string_view> dtypes,
                                 const std::vector<uint64_t>& shape = {});
  void drop(const std::string& name) { taken_.insert(name); }
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

  void add(std::string name, TypeId type, std::vector<uint64_t> shape, std::span<const std::byte> data,
           std::unique_ptr<PackedMatrix> packed);
  // Adds a note about a weight that was not kept exactly, once.
  void note(std::string text);

  // Keys of "quantization_config".
  Result<std::string> text(const std::string& key, std::string_view otherwise) const;
  Result<bool> flag(const std::string& key, bool otherwise) const;
  Result<int64_t> number(const std::string& key, int64_t otherwise) const;
  Result<std::optional<double>> real(const std::string& key) const;

  Error refused(std::string_view what) const;
  Error missing(const std::string& name) const;
  // The part's shape does not match the others.
  Error uneven(const std::string& name, const std::vector<uint64_t>& shape) const;
  std::string_view file() const { return file_; }

  std::vector<TensorInfo>& made() { return made_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  const Metadata& config_;
  std::string_view file_;
  std::map<std::string, TensorPart, std::less<>> parts_;
  std::set<std::string, std::less<>> taken_;
  std::vector<TensorInfo> made_;
  std::vector<std::string> notes_;
};

// Number of pieces of this size in `n`; 0 if they do not divide it.
constexpr uint64_t pieces_of(uint64_t n, uint64_t piece) {
  return piece > 0 && n % piece == 0 ? n / piece : 0;
}

}  // namespace realizar
