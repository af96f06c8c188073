// The one way from what a user typed to what a loader opens.
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

// A file or folder as it is; else a model of that name. Errors: NotFound, with the names that may be meant and the
// command that downloads the model; InvalidArgument where a name of a kind that is written out (hf:, ollama:, https://)
// is wrong; those of a manifest that is damaged.
Result<LocalModel> locate(const Library& library, const std::string& given);
// The same of a name alone, whatever file is called so.
Result<LocalModel> locate_named(const Library& library, const std::string& given);

// The name by which a model of the repository is here whose file matches the pattern (matching_model); nullopt: none
// is. Errors: NotFound where several are.
Result<std::optional<ModelName>> locate_match(const Library& library, const ModelName& repository,
                                              const std::string& pattern);

// Whether the word says by itself that it is a model's name: it has a scheme or a tag, its model stands in the table of
// short names, or it is the bundled model's.
bool is_known_name(const std::string& word);

// "Did you mean", for names of models. Pure: the known names come from the caller.
// One way to write a model's name, and the name as lists show it: "acme/x" and "hf:acme/x".
struct KnownName {
  std::string spelling, name;
};

// The names that `given` may be a slip of, or the beginning of: the nearest first, at most three, each once. Where
// several are equally near, the order of `known` decides. Upper and lower case are the same.
std::vector<std::string> near_names(std::string_view given, std::span<const KnownName> known);

}  // namespace realizar::hub
