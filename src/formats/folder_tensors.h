// The tensors of a Hugging Face folder by their names, while matrices are put together that are made of several of
// them: which tensors these are, and what became of them.
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

  // F32, BF16 or F16; of a part of one of these.
  TypeId float_type() const;
};

class FolderTensors {
 public:
  // `file` names config.json in errors; it and `config` must outlive this.
  FolderTensors(const Metadata& config, std::string_view file, const std::vector<TensorInfo>& tensors,
                const std::vector<RawTensor>& raws);

  // Null where there is none.
  const TensorPart* find(const std::string& name) const;
  // The names that end so, without the end.
  std::vector<std::string> bases(std::string_view end) const;
  // A part that must be there, of one of these element types, and of this shape if there is one. FormatError.
  Result<const TensorPart*> take(const std::string& name, std::initializer_list<std::string_view> dtypes,
                                 const std::vector<uint64_t>& shape = {});
  void drop(const std::string& name) { taken_.insert(name); }
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

  void add(std::string name, TypeId type, std::vector<uint64_t> shape, std::span<const std::byte> data,
           std::unique_ptr<PackedMatrix> packed);
  // Says once what was not kept as it was.
  void note(std::string text);

  // Keys of "quantization_config".
  Result<std::string> text(const std::string& key, std::string_view otherwise) const;
  Result<bool> flag(const std::string& key, bool otherwise) const;
  Result<int64_t> number(const std::string& key, int64_t otherwise) const;
  Result<std::optional<double>> real(const std::string& key) const;

  Error refused(std::string_view what) const;
  Error missing(const std::string& name) const;
  // The part's shape is not what the others ask for.
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

// How many equal pieces of `n`; 0 where they are not equal.
constexpr uint64_t pieces_of(uint64_t n, uint64_t piece) {
  return piece > 0 && n % piece == 0 ? n / piece : 0;
}

}  // namespace realizar
