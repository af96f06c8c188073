// Every model on this machine by name: those in the store, the bundled one, and those of other programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/foreign_caches.h"
#include "hub/local_model.h"
#include "hub/name.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::hub {

// The name of the model that ships with the program. A model with this name in the store takes precedence.
inline constexpr const char* kBundledModel = "realizar-tiny";

class Library {
 public:
  // `bundled`: the bundled model's file; empty: none.
  Library(Store store, ForeignCaches caches, std::filesystem::path bundled = {})
      : store_(std::move(store)), caches_(std::move(caches)), bundled_(std::move(bundled)) {}

  const Store& store() const { return store_; }
  // Looks up the store's own name first, then the meanings of a short name, in the store and in caches. Errors:
  // NotFound; those of a damaged manifest.
  Result<LocalModel> find(const ModelName& name) const;
  // The store's models, those in caches, then the bundled one. `notes`: why some are left out.
  std::vector<LocalModel> list(std::vector<std::string>& notes) const;

 private:
  std::optional<LocalModel> bundled(const ModelName& name) const;

  Store store_;
  ForeignCaches caches_;
  std::filesystem::path bundled_;
};

// The texts stored with a model from Ollama; absent ones are empty.
struct ModelTexts {
  std::string chat_template;  // a Go template
  std::string params;         // a JSON object
  std::string system, license;
  std::string messages;  // a JSON list
};
// Errors: those of reading; FormatError (too long).
Result<ModelTexts> read_texts(const LocalModel& model);

}  // namespace realizar::hub
