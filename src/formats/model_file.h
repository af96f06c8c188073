// An opened model on disk: maps, metadata, tensor directory; the same for GGUF and SafeTensors. Knows nothing of
// transformers. Opening reads headers only; no tensor byte is touched. Owns the maps: every span dies with it. Movable;
// spans and views stay valid when it is moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/chat_templates.h"
#include "formats/metadata.h"
#include "quant/types.h"
#include "realizar/result.h"

namespace realizar {

class MappedFile;
struct HfConfig;
class PackedMatrix;

enum class FileFormat { kGguf, kHuggingFace };

struct TensorInfo {
  std::string name;
  TypeId type;
  std::vector<uint64_t> shape;  // outermost first; the last dimension is contiguous (GGUF's order reversed)
  std::span<const std::byte> data;
  // Not null: `data` are codes of another program's format, and packed->unpack() makes the rows in the type.
  std::shared_ptr<const PackedMatrix> packed = nullptr;

  uint64_t n_elems() const;
  uint64_t n_bytes() const;  // in that type
};

// An entry of a GGUF file's metadata as stored, for a copy that keeps its type. Views into the map.
struct GgufEntry {
  std::string_view key;
  std::span<const std::byte> value;  // its type's number, then the value
};

// The side files of a Hugging Face folder; absent ones are nullopt. All are absent for GGUF.
struct SideFiles {
  std::optional<std::string> tokenizer_json;
  std::optional<std::string> tokenizer_model;         // sentencepiece, binary
  std::optional<std::string> rwkv_vocab;              // rwkv_vocab_v20230424.txt
  std::optional<std::string> tekken_json;             // Mistral's vocabulary
  std::optional<std::string> vocab_json, merges_txt;  // GPT-2's vocabulary in two files
  std::string model_type;                             // config.json's, if the vocabulary is one of these two
  std::optional<std::string> tokenizer_config_json;   // merged with the tokens of added_tokens.json,
                                                      // special_tokens_map.json
  ChatTemplates chat_templates;
  std::optional<std::string> generation_config_json;
  std::optional<std::string> config_json;
  std::optional<std::string> special_tokens_map_json;
};

class ModelFile {
 public:
  // `path`: a .gguf file (any part of a split file finds the others), a folder with one such model, a Hugging Face
  // folder, or a .safetensors file in a folder with config.json. Errors: NotFound, InvalidArgument (a folder with
  // several models), FormatError (names the field, offset, expected and actual, or a file that is cut off), Unsupported
  // (tensor type).
  static Result<ModelFile> open(const std::filesystem::path& path);
  // A file that is not written yet: its metadata, and its tensors, whose data the caller owns if they are read (a
  // model's config only reads vectors of numbers). Errors: FormatError (two tensors with the same name).
  static Result<ModelFile> described(const std::filesystem::path& path, FileFormat format, HfConfig metadata,
                                     std::vector<TensorInfo> tensors);

  ModelFile(ModelFile&&) noexcept;
  ModelFile& operator=(ModelFile&&) noexcept;
  ~ModelFile();

  FileFormat format() const;
  const std::filesystem::path& path() const;
  std::vector<std::filesystem::path> files() const;  // all parts, including the folder itself if it is one
  uint64_t file_bytes() const;                       // total of all parts
  const Metadata& metadata() const;
  std::span<const GgufEntry> gguf_entries() const;  // of the first part; empty for kHuggingFace
  std::span<const TensorInfo> tensors() const;      // in file order
  // Tensors with a dimension of 0, which are not among the others: no model uses them.
  std::span<const TensorInfo> empty_tensors() const;
  // One note for each kind of weight whose quantization could not be kept.
  std::span<const std::string> notes() const;
  const TensorInfo* find(std::string_view name) const;

  // FormatError if a byte could not be read, or the file was written to, since it was opened (MappedFile::check). Call
  // it after reading tensors, before using the results.
  Status check() const;
  // The value made from the file, or check()'s error, which then explains any other error too.
  template <class T>
  Result<T> checked(Result<T> made) const {
    if (Status status = check(); !status.ok()) return std::move(status).error();
    return made;
  }

  // Reads the side files (kHuggingFace only); errors as in open.
  Result<SideFiles> side_files() const;

  // Tells the kernel that these tensor bytes are no longer needed in memory; they can still be read again.
  void release(std::span<const std::byte> data) const;

 private:
  struct Impl;
  explicit ModelFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar
