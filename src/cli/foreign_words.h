// Words that users of llama.cpp and Ollama type, and their meaning here: the same function by another name, something
// that needs no switch, or something that is done differently.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace realizar::cli {

// The program that the words are meant for: `realizar COMMAND`, or a llama-server (server_words.h).
enum class CalledAs : uint8_t { kRealizar = 1, kServer = 2, kBoth = 3 };

enum class ForeignKind : uint8_t {
  kRenamed,  // `text` is the name here
  kNoted,    // has no effect here; `text` gives the reason
  kRefused,  // not possible this way; `text` describes how
  // Flags of a llama-server:
  kModel,      // its value is the model
  kContext,    // total tokens of all sequences
  kSequences,  // number of sequences that share the context
  kUnified,    // each sequence may use the whole context
  kAlias,      // names of the model, separated by commas; the first in alphabetical order is its id
  kOrigins,    // allowed origins of web pages, separated by commas
  kMetrics,    // enables /metrics
  kReasoning,  // kRenamed, without telling the template to think
  kAdapters,   // files separated by commas, each with or without :SCALE
  kUnapplied,  // requests that name no adapter use none
};

struct ForeignWord {
  ForeignKind kind;
  std::string_view text;
  std::string_view values;  // for noted words: "on|off": one of these may follow; for llama-server's flags: the default
  bool has_value;
};

// A flag or a command; nullopt for unknown words. `called_as`: kRealizar or kServer.
std::optional<ForeignWord> find_foreign_word(std::string_view name, CalledAs called_as);

}  // namespace realizar::cli
