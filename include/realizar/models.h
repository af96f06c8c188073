// Models by their names: downloads into the store of this machine, from which LanguageModel::load takes them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "realizar/result.h"

namespace realizar {

// The state of a download: the file that comes, "" while servers are asked, and bytes of all files. False ends it with
// Cancelled.
using PullCallback = std::function<bool(const std::string& file, uint64_t done_bytes, uint64_t total_bytes)>;

struct PullOptions {
  std::string models_store = {};  // the folder of models that were pulled; "": the user's own
  // The one GGUF file of a Hugging Face repository that this matches: `*` stands for any characters, `?` and `[...]`
  // for one, and upper and lower case are the same. "": what the name says.
  std::string file = {};
  bool only_if_missing = false;  // a model that is on this machine is taken as it is, and no server is asked
  std::string mirror = {};   // server that is asked in place of huggingface.co (or HF_ENDPOINT) or Ollama's registry
  std::string token = {};    // for Hugging Face, or for the mirror; "": HF_TOKEN, or the one that Hugging Face's
                             // programs keep, of which a mirror gets neither
  std::string ca_file = {};  // certificates (PEM) that are trusted; "": SSL_CERT_FILE, or the system's
  // Called on the caller's thread, ten times a second or more often.
  PullCallback progress = {};
};

// Downloads what the store lacks of a model, as `realizar pull` does: "qwen3:1.7b", "hf:OWNER/REPO[:QUANTIZATION or
// FILE]", "ollama:NAME[:TAG]" or "https://HOST/FILE.gguf". What was interrupted is resumed. Gives the name that load()
// takes for it. libcurl and libcrypto are opened when they are first needed. Any thread. Errors: Unsupported where this
// machine has none of them; NotFound; InvalidArgument for what is no name and for what a server refuses; FormatError
// for bytes that are not what was promised; ResourceExhausted for the disk, and for a server that cannot be reached;
// Cancelled, after which the next call resumes.
Result<std::string> pull_model(const std::string& name, const PullOptions& options = {});

}  // namespace realizar
