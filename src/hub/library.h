// Every model on this machine by its name: those of the store, and those that other programs keep.
#pragma once

#include <string>
#include <vector>

#include "hub/foreign_caches.h"
#include "hub/local_model.h"
#include "hub/name.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::hub {

class Library {
 public:
  Library(Store store, ForeignCaches caches) : store_(std::move(store)), caches_(std::move(caches)) {}

  const Store& store() const { return store_; }
  // The store's own name first, then what a short name stands for, in the store and in caches. Errors: NotFound; those
  // of a manifest that is damaged.
  Result<LocalModel> find(const ModelName& name) const;
  // Those of the store, then those of caches. `notes`: why some are left out.
  std::vector<LocalModel> list(std::vector<std::string>& notes) const;

 private:
  Store store_;
  ForeignCaches caches_;
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
