// The user's folders, models, tokens and certificates according to the environment, both for the program and for the
// library, so that they find the same models. Folders follow the XDG Base Directory Specification, version 0.8; they
// need not exist, and are nullopt if the environment sets neither them nor a home.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "hub/library.h"
#include "hub/pull.h"
#include "realizar/result.h"

namespace realizar::hub {

// realizar in $XDG_STATE_HOME or ~/.local/state: state kept between sessions.
std::optional<std::filesystem::path> state_folder();
// realizar in $XDG_CACHE_HOME or ~/.cache: data that can be recreated.
std::optional<std::filesystem::path> cache_folder();
// realizar in $XDG_DATA_HOME or ~/.local/share: data that the user wants to keep.
std::optional<std::filesystem::path> data_folder();

// realizar in $XDG_RUNTIME_DIR: shared by the programs of one session. nullopt: the system has no such folder.
std::optional<std::filesystem::path> runtime_folder();
// The socket in that folder on which a server answers its user's other commands.
std::optional<std::filesystem::path> service_socket();

// Folders where other programs store models, according to their own variables. Ollama: the user's folders, then the
// service's.
ForeignCaches model_caches();

// HF_ENDPOINT: the server that Hugging Face's own programs use. "": huggingface.co.
std::string hugging_face_endpoint();

struct UserTokens {
  std::string hugging_face;                 // HF_TOKEN
  std::filesystem::path hugging_face_file;  // where Hugging Face's programs store a token
  std::string ca_file;                      // SSL_CERT_FILE
};
UserTokens user_tokens();

// The models of this process's user. `store`: the folder of pulled models; empty: the user's own.
Library user_library(const std::filesystem::path& store = {});

// The bundled model's file, found relative to the program or the library, in the build tree or the install tree; empty
// if it does not exist.
std::filesystem::path bundled_file();

// Settings for downloads: from the user's choices, else from the environment.
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
