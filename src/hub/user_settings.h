// How downloads are made for whoever runs this process: as they choose, else as their environment says.
#pragma once

#include <cstdint>
#include <string>

#include "hub/pull.h"
#include "realizar/result.h"

namespace realizar::hub {

struct HubChoices {
  bool offline = false;
  // "": as the environment says.
  std::string mirror;             // the server that is asked in place of Hugging Face's, or of Ollama's
  std::string token, token_file;  // for Hugging Face or the mirror: the token itself, or a file that has it
  std::string ca_file;
  uint32_t n_connections = 8, timeout_s = 30;
};

// Errors: InvalidArgument for a token that is not one word, for its file where that cannot be read, and for a mirror
// that is no URL.
Result<HubSettings> user_hub_settings(const HubChoices& choices);

}  // namespace realizar::hub
