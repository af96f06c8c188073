// Models that clients create in the store: from uploaded files or from another model of the store, with texts of their
// own. Any thread; it may take as long as reading a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/name.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::server {

// The SHA-256 of a digest "sha256:HEX" or "sha256-HEX", as clients name blobs; nullopt for anything else.
std::optional<std::string> sha256_of_digest(std::string_view digest);

struct CreateWish {
  struct File {
    std::string name, sha256;
  };
  hub::ModelName name;
  std::optional<hub::ModelName> parent;  // nullopt: created from `files`
  std::vector<File> files;
  // Nullopt: the parent's. "" removes it.
  std::optional<std::string> chat_template, system, license;
  std::optional<std::string> parameters;  // a JSON object, merged over the parent's
  std::optional<std::string> messages;    // a JSON list
};

// When this returns, the model has its name. Errors: InvalidArgument and FormatError naming the field, also if the
// files are not a model that can be loaded; NotFound for missing blobs; ResourceExhausted, subject "disk".
Status create_stored(const hub::Store& store, const CreateWish& wish);

}  // namespace realizar::server
