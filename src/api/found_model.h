// A model of this machine by its path or its name, as a loader takes it.
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
  std::string system = {};                    // a message that comes with it; "": none
  std::string messages = {};                  // a conversation's beginning, a JSON list; "": none
  std::optional<AdapterSource> adapter = {};  // that its answers have
  std::string note = {};                      // of the place where it was found, a sentence; "": none
};

// A file or folder as it is; else a model of that name. Errors: as hub::locate, read_texts and adapter_of.
Result<FoundModel> find_model(const hub::Library& library, const std::string& given);

// The name of an adapter that the store has beside a model.
inline constexpr const char* kStoredAdapter = "adapter";
// The adapter that the answers of a model have. Errors: Unsupported (it has several).
Result<std::optional<AdapterSource>> adapter_of(const hub::LocalModel& model);

}  // namespace realizar
