// Models of tests/data/conformance. A few are files. Most are made when a test requests them, from a row of the
// architecture table and their words in the manifest: the same bits on every machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_file.h"

namespace realizar::test {

// A model by make_conformance's words: ROW [NAME=VALUE ...]. nullopt if the table has no such row.
std::optional<GgufWriter> made_model(const std::vector<std::string>& words);

// Hashes of a made file, recorded in the manifest: reference logits are only valid for these weights.
struct MadeHash {
  std::string head;     // metadata, and the names, shapes and types of tensors
  std::string weights;  // all tensors' data
};
// Hashes the file that `writer` wrote. Errors: those of MappedFile::open.
Result<MadeHash> hash_of(const GgufWriter& writer, const std::filesystem::path& path);
// In the manifest's format: "hash": {...}
std::string to_string(const MadeHash& hash);

// The manifest's words for a model; none if it is a file.
std::vector<std::string> words_for(const std::filesystem::path& folder, const std::string& name);
// The names of all models with words in `folder`'s manifest.
std::vector<std::string> made_names(const std::filesystem::path& folder);

// The text of a model's reference logits.
std::vector<int> tokens_for(const std::filesystem::path& folder, const std::string& name);

// The model of a name: its file, or made from the manifest. Errors: those of ModelFile::open; FormatError if the made
// model does not match the manifest's hashes, or it has none.
Result<ModelFile> open_conformance(const std::filesystem::path& folder, const std::string& name);

}  // namespace realizar::test
