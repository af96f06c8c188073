// Every model on this machine by its name: those of the store, the bundled one, and those that other programs keep.
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

// The name of the model that is part of the program. A model that the store has under this name takes its place.
inline constexpr const char* kBundledModel = "realizar-tiny";

class Library {
 public:
  // `bundled`: the bundled model's file; empty: there is none.
  Library(Store store, ForeignCaches caches, std::filesystem::path bundled = {})
      : store_(std::move(store)), caches_(std::move(caches)), bundled_(std::move(bundled)) {}

  const Store& store() const { return store_; }
  // The store's own name first, then what a short name stands for, in the store and in caches. Errors: NotFound; those
  // of a manifest that is damaged.
  Result<LocalModel> find(const ModelName& name) const;
  // The store's models, those of caches, then the bundled one. `notes`: why some are left out.
  std::vector<LocalModel> list(std::vector<std::string>& notes) const;

 private:
  std::optional<LocalModel> bundled(const ModelName& name) const;

  Store store_;
  ForeignCaches caches_;
  std::filesystem::path bundled_;
};

// The texts that come with a model of Ollama's; what is not there is empty.
struct ModelTexts {
  std::string chat_template;  // in Go's spelling
  std::string params;         // a JSON object
  std::string system, license;
  std::string messages;  // a JSON list
};
// Errors: those of reading; FormatError (too long).
Result<ModelTexts> read_texts(const LocalModel& model);

}  // namespace realizar::hub
