// Words that users of llama.cpp and Ollama type, and their meaning here: the same thing by another name, something that
// needs no switch, or something that is done differently.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace realizar::cli {

// Which program the words are typed for: `realizar COMMAND`, or a llama-server (server_words.h).
enum class CalledAs : uint8_t { kRealizar = 1, kServer = 2, kBoth = 3 };

enum class ForeignKind : uint8_t {
  kRenamed,  // `text` is the name here
  kNoted,    // has no effect here; `text` says why
  kRefused,  // cannot be done so; `text` says how it is done
  // Flags of a llama-server:
  kModel,      // its value is the model
  kContext,    // the tokens of all sequences together
  kSequences,  // how many share the context
  kUnified,    // each sequence may have all of the context
  kAlias,      // names of the model, with commas between them; the first in alphabetical order is its id
  kOrigins,    // whose pages may call, with commas between them
  kMetrics,    // /metrics is served
  kReasoning,  // kRenamed, and the template is not told to think
  kAdapters,   // files with commas between them, each with or without :SCALE
  kUnapplied,  // requests that name no adapter have none
};

struct ForeignWord {
  ForeignKind kind;
  std::string_view text;
  std::string_view
      values;  // of what is noted: "on|off": one of these may follow; of a llama-server's flag: its default
  bool has_value;
};

// A flag or a command; nullopt where the word is nobody's. `called_as`: kRealizar or kServer.
std::optional<ForeignWord> find_foreign_word(std::string_view name, CalledAs called_as);

}  // namespace realizar::cli
