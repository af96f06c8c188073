// Models by name: the options for where they are stored and downloaded from, and the resolution of a user's input to a
// loadable model.
#pragma once

#include <string>
#include <string_view>

#include "api/found_model.h"
#include "cli/flags.h"
#include "hub/library.h"
#include "hub/pull.h"
#include "hub/user_folders.h"
#include "realizar/result.h"

namespace realizar::cli {

struct StoreFlags {
  // --models-store; `network`: also the options of downloads.
  enum class Network : uint8_t { kNone, kYes };
  void add_to(Flags flags, Network network);
  // Only the options that choose and configure the hub.
  void add_hub_to(Flags flags);

  hub::Library library() const;
  // Errors: InvalidArgument for an unreadable token file, and for a mirror that is not a URL.
  Result<hub::HubSettings> hub_settings() const;

  // Finds a file or folder by its path, or else a model by its name. Errors: as hub::locate.
  Result<FoundModel> find(const std::string& given) const;
  // Finds a model by its name only.
  Result<hub::LocalModel> find_named(const std::string& given) const;
  // Replaces the name by the path.
  Status find_path(std::string& given) const;

  std::string folder;  // "": the user's own
  hub::HubChoices choices;
};

// The model that ships with the program, used if no other is named.

// Its file. Errors: NotFound, naming the command that needs a model.
Result<std::string> bundled_model_path(const std::string& command);
// Likewise, with a line on standard error that no model was named. `does`: "answers".
Result<std::string> bundled_in_place(const std::string& command, std::string_view does);

// "realizar-tiny, a toy of 4.5 million parameters"
std::string bundled_text();

}  // namespace realizar::cli
