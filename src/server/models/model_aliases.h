// Models that clients made from others while the server runs (Ollama's /api/copy and /api/create): a name with its own
// template, system message and parameters for a model that was given at the start. In memory only, limited in number
// and bytes. Each belongs to an owner, and others do not see it. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"
#include "text/chat_template.h"

namespace realizar::server {

// A name with its tag, by default "latest": "tiny" is "tiny:latest". A colon before a slash does not begin a tag.
std::string with_tag(std::string_view name);

struct ModelAlias {
  std::string name;                                         // as given
  std::string base;                                         // the id of the model that answers
  std::string parent;                                       // the name that it was made from
  std::string template_source;                              // "": the base's
  std::shared_ptr<const text::ChatTemplate> chat_template;  // of template_source; null: the base's
  std::string system, license;
  std::string parameters = "{}";  // JSON: an object of Ollama's options
  std::string messages = "[]";    // JSON: a conversation's beginning
  std::chrono::system_clock::time_point modified = {};

  size_t n_bytes() const;
};
using ModelAliasPtr = std::shared_ptr<const ModelAlias>;

class ModelAliases {
 public:
  static constexpr size_t kMaxOfOne = 256;            // models per owner
  static constexpr size_t kMaxBytesOfOne = 4u << 20;  // per owner
  static constexpr size_t kMaxOwners = 256;

  // Replaces a model of the same name. Errors: ResourceExhausted if there is no room for it.
  Status put(uint64_t owner, ModelAlias model);
  // Compares names with their tags, ignoring case. Null if the owner has none.
  ModelAliasPtr find(uint64_t owner, std::string_view name) const;
  bool erase(uint64_t owner, std::string_view name);  // false if there is none
  std::vector<ModelAliasPtr> list(uint64_t owner) const;

 private:
  using Shelf = std::map<std::string, ModelAliasPtr>;  // by the name with its tag, in lower case
  mutable std::mutex mutex_;
  std::map<uint64_t, Shelf> shelves_;  // none is empty
};

}  // namespace realizar::server
