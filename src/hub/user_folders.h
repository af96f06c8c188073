// The user's folders, models, tokens and certificates as the environment names them, for the program and for the
// library, which look for models in the same places. Folders follow the XDG Base Directory Specification, version 0.8;
// they need not be there, and are nullopt where the environment names neither them nor a home.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "hub/library.h"

namespace realizar::hub {

// realizar in $XDG_STATE_HOME or ~/.local/state: what a session leaves to the next.
std::optional<std::filesystem::path> state_folder();
// realizar in $XDG_CACHE_HOME or ~/.cache: what can be made again.
std::optional<std::filesystem::path> cache_folder();
// realizar in $XDG_DATA_HOME or ~/.local/share: what the user wants to keep.
std::optional<std::filesystem::path> data_folder();

// realizar in $XDG_RUNTIME_DIR: what programs of one session share. nullopt: the system has no such folder.
std::optional<std::filesystem::path> runtime_folder();
// The socket there on which a server answers its user's other commands.
std::optional<std::filesystem::path> service_socket();

// Where other programs keep models, as their own variables say. Ollama: the user's folders, then the service's.
ForeignCaches model_caches();

// HF_ENDPOINT: the server that Hugging Face's own programs ask. "": huggingface.co.
std::string hugging_face_endpoint();

struct UserTokens {
  std::string hugging_face;                 // HF_TOKEN
  std::filesystem::path hugging_face_file;  // where its programs keep one
  std::string ca_file;                      // SSL_CERT_FILE
};
UserTokens user_tokens();

// The models of whoever runs this process. `store`: the folder of models that were pulled; empty: the user's own.
Library user_library(const std::filesystem::path& store = {});

// The bundled model's file, beside this code, be it the program or the library, in the build tree or the install tree;
// empty: it is not there.
std::filesystem::path bundled_file();

}  // namespace realizar::hub
