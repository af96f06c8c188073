// A model on this machine, found by its path or name, with everything that a loader needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hub/library.h"
#include "realizar/adapter.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "text/conversation.h"

namespace realizar {

struct FoundModel {
  std::string path;
  BesideSettings beside = {};
  std::string system = {};                    // its system message; "": none
  std::string messages = {};                  // the beginning of conversations, a JSON list; "": none
  std::optional<AdapterSource> adapter = {};  // applied to its answers
  std::string note = {};                      // a sentence about where it was found; "": none
};

// Finds a file or folder by its path, or else a model by its name. Errors: as hub::locate, read_texts and adapter_of.
Result<FoundModel> find_model(const hub::Library& library, const std::string& given);

// The name of the adapter that the store keeps with a model.
inline constexpr const char* kStoredAdapter = "adapter";
// The adapter for a model's answers. Errors: Unsupported (several adapters).
Result<std::optional<AdapterSource>> adapter_of(const hub::LocalModel& model);

// The beginning of conversations with a model, as Ollama's models define it: a system message, and turns.
struct ChatBeginning {
  std::string system;  // "": none
  std::vector<text::Message> messages = {};

  bool empty() const { return system.empty() && messages.empty(); }
  // The messages before a conversation; the system message comes first unless the messages or the conversation
  // (`has_system`) have one.
  std::vector<text::Message> before(bool has_system) const;
};

// `messages`: a JSON list of messages of system, user and assistant, each with a text; "": none. An invalid list is
// ignored with a note in `notes`.
ChatBeginning read_chat_beginning(std::string system, const std::string& messages, std::vector<std::string>& notes);

}  // namespace realizar
