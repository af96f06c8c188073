// Models of tests/data/conformance. Older ones are files; the others are made when a test asks for them, from a row of
// the architecture table and the words that the manifest has for them: the same bits on every machine.
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

// The model of a name: its file, or what is made by the manifest. Errors: those of ModelFile::open.
Result<ModelFile> open_conformance(const std::filesystem::path& folder, const std::string& name);

}  // namespace realizar::test
