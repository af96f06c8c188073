// Models by their names: the options that say where they are kept and fetched from, and the one way from what a user
// typed to what a loader opens.
#pragma once

#include <string>

#include "api/found_model.h"
#include "cli/flags.h"
#include "hub/library.h"
#include "hub/pull.h"
#include "hub/user_settings.h"
#include "realizar/result.h"

namespace realizar::cli {

struct StoreFlags {
  // --models-store; `network`: and those of downloads.
  enum class Network : uint8_t { kNone, kYes };
  void add_to(Flags flags, Network network);
  // Only those that say which hub is asked, and how.
  void add_hub_to(Flags flags);

  hub::Library library() const;
  // Errors: InvalidArgument for a token's file that cannot be read, and for a mirror that is no URL.
  Result<hub::HubSettings> hub_settings() const;

  // A file or folder as it is; else a model of that name. Errors: as hub::locate.
  Result<FoundModel> find(const std::string& given) const;
  // The same of a name alone.
  Result<hub::LocalModel> find_named(const std::string& given) const;
  // The path alone, in the place of the name.
  Status find_path(std::string& given) const;

  std::string folder;  // "": the user's own
  hub::HubChoices choices;
};

}  // namespace realizar::cli
