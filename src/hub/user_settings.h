// Settings for downloads: from the user's choices, else from the environment.
#pragma once

#include <cstdint>
#include <string>

#include "hub/pull.h"
#include "realizar/result.h"

namespace realizar::hub {

struct HubChoices {
  bool offline = false;
  // "": from the environment.
  std::string mirror;             // a server to use instead of Hugging Face's or Ollama's
  std::string token, token_file;  // for Hugging Face or the mirror: the token itself, or a file with it
  std::string ca_file;
  uint32_t n_connections = 8, timeout_s = 30;
};

// Errors: InvalidArgument for a token that is not one word, for an unreadable token file, and for a mirror that is not
// a URL.
Result<HubSettings> user_hub_settings(const HubChoices& choices);

}  // namespace realizar::hub
