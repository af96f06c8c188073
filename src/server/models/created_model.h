// Models of the store that clients make: of files that they uploaded, or of another model of the store, with texts of
// their own. Any thread; it may take as long as reading a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/name.h"
#include "hub/store.h"
#include "realizar/result.h"

namespace realizar::server {

// The SHA-256 of a digest "sha256:HEX" or "sha256-HEX", as clients name blobs; nullopt for all else.
std::optional<std::string> sha256_of_digest(std::string_view digest);

struct CreateWish {
  struct File {
    std::string name, sha256;
  };
  hub::ModelName name;
  std::optional<hub::ModelName> parent;  // nullopt: it is made of `files`
  std::vector<File> files;
  // Nullopt: those of the parent. "" takes them away.
  std::optional<std::string> chat_template, system, license;
  std::optional<std::string> parameters;  // a JSON object, put over the parent's
  std::optional<std::string> messages;    // a JSON list
};

// The model has its name when this is done. Errors: InvalidArgument and FormatError naming the field, as where the
// files are no model that can be loaded; NotFound for blobs that are not there; ResourceExhausted, subject "disk".
Status create_stored(const hub::Store& store, const CreateWish& wish);

}  // namespace realizar::server
