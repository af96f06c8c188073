// Resolves the user's input to a model that a loader can open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/library.h"
#include "hub/local_model.h"
#include "realizar/result.h"

namespace realizar::hub {

// Takes a file or folder by its path, else a model by its name. Errors: NotFound, with similar names and the command
// that downloads the model; InvalidArgument if a name with an explicit scheme (hf:, ollama:, https://) is malformed;
// those of a damaged manifest.
Result<LocalModel> locate(const Library& library, const std::string& given);
// Takes a name only, even if a file has that name.
Result<LocalModel> locate_named(const Library& library, const std::string& given);

// The name of a model on this machine from the repository whose file matches the pattern (matching_model); nullopt:
// none. Errors: NotFound if several match.
Result<std::optional<ModelName>> locate_match(const Library& library, const ModelName& repository,
                                              const std::string& pattern);

// Whether the word is recognizable as a model's name: it has a scheme or a tag, its model is in the table of short
// names, or it is the bundled model's.
bool is_known_name(const std::string& word);

// "Did you mean", for model names. Pure: the caller supplies the known names.
// One way to write a model's name, and the name as lists show it: "acme/x" and "hf:acme/x".
struct KnownName {
  std::string spelling, name;
};

// The names that `given` may be a typo of, or the beginning of: the nearest first, at most three, each once. Ties are
// resolved by the order of `known`. Case is ignored.
std::vector<std::string> near_names(std::string_view given, std::span<const KnownName> known);

}  // namespace realizar::hub
