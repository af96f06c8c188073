// A model on this machine, found by its path or name, with everything that a loader needs.
#pragma once

#include <optional>
#include <string>

#include "hub/library.h"
#include "realizar/adapter.h"
#include "realizar/options.h"
#include "realizar/result.h"

namespace realizar {

struct FoundModel {
  std::string path;
  BesideSettings beside = {};
  std::string system = {};                    // its system message; "": none
  std::string messages = {};                  // the beginning of conversations, a JSON list; "": none
  std::optional<AdapterSource> adapter = {};  // applied to its answers
  std::string note = {};                      // a sentence about where it was found; "": none
};

// Finds a file or folder by its path, or else a model by its name. Errors: as hub::locate, read_texts and adapter_of.
Result<FoundModel> find_model(const hub::Library& library, const std::string& given);

// The name of the adapter that the store keeps with a model.
inline constexpr const char* kStoredAdapter = "adapter";
// The adapter for a model's answers. Errors: Unsupported (several adapters).
Result<std::optional<AdapterSource>> adapter_of(const hub::LocalModel& model);

}  // namespace realizar
