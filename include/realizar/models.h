// Models by name: downloads to the store of this machine, from which LanguageModel::load reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "realizar/result.h"

namespace realizar {

// The progress of a download: the current file, "" while servers are contacted, and the bytes of all files. Returning
// false ends it with Cancelled.
using PullCallback = std::function<bool(const std::string& file, uint64_t done_bytes, uint64_t total_bytes)>;

struct PullOptions {
  std::string models_store = {};  // the folder of pulled models; "": the user's own
  // A pattern for the one GGUF file of a Hugging Face repository: `*` matches any characters, `?` and `[...]` one,
  // ignoring case. "": decided by the name.
  std::string file = {};
  bool only_if_missing = false;  // a model that exists on this machine is used as it is, without contacting a server
  std::string mirror = {};       // a server to use instead of huggingface.co (or HF_ENDPOINT) or Ollama's registry
  std::string token = {};    // for Hugging Face, or for the mirror; "": HF_TOKEN, or the one stored by Hugging Face's
                             // tools; a mirror gets neither
  std::string ca_file = {};  // trusted certificates (PEM); "": SSL_CERT_FILE, or the system's
  // Called on the caller's thread, at least ten times a second.
  PullCallback progress = {};
};

// Downloads the missing parts of a model to the store, like `realizar pull`: "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION
// or FILE]", "ollama:NAME[:TAG]" or "https://HOST/FILE.gguf". An interrupted download is resumed. Returns the name by
// which load() finds it. libcurl and libcrypto are opened on first use. Any thread. Errors: Unsupported if this machine
// has no libcurl or libcrypto; NotFound; InvalidArgument for an invalid name, or if a server refuses; FormatError for
// bytes that do not match their checksum; ResourceExhausted for a full disk, or a server that cannot be reached;
// Cancelled, after which the next call resumes.
Result<std::string> pull_model(const std::string& name, const PullOptions& options = {});

}  // namespace realizar
