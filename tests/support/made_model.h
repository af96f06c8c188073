// Models of tests/data/conformance. A few are files. Most are made when a test asks for them, from a row of the
// architecture table and the words that the manifest has for them: the same bits on every machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_file.h"

namespace realizar::test {

// A model by make_conformance's words: ROW [NAME=VALUE ...]. Nothing where the table has no such row.
std::optional<GgufWriter> made_model(const std::vector<std::string>& words);

// Hashes of a made file, which the manifest records: reference logits hold for these weights alone.
struct MadeHash {
  std::string head;     // metadata, and the names, shapes and types of tensors
  std::string weights;  // all tensors' data
};
// Hashes the file that `writer` wrote. Errors: those of MappedFile::open.
Result<MadeHash> hash_of(const GgufWriter& writer, const std::filesystem::path& path);
// As the manifest has it: "hash": {...}
std::string to_string(const MadeHash& hash);

// The manifest's words for a model; none where it is not made.
std::vector<std::string> words_for(const std::filesystem::path& folder, const std::string& name);
// The names of all models that `folder`'s manifest has words for.
std::vector<std::string> made_names(const std::filesystem::path& folder);

// The model of a name: its file, or what is made by the manifest. Errors: those of ModelFile::open; FormatError where
// what is made is not what the manifest's hashes are of, or it has none.
Result<ModelFile> open_conformance(const std::filesystem::path& folder, const std::string& name);

}  // namespace realizar::test
