// What users of llama.cpp and Ollama type, and what it is here: the same thing by another name, something that needs no
// switch, or something that is done differently.
#pragma once

#include <cstdint>
#include <string_view>

namespace realizar::cli {

enum class ForeignKind : uint8_t {
  kRenamed,  // `text` is the name here
  kNoted,    // has no effect here; `text` says why
  kRefused,  // cannot be done so; `text` says how it is done
};

struct ForeignWord {
  std::string_view name;
  ForeignKind kind;
  std::string_view text;
  std::string_view values = {};  // of a flag that is noted: "*": any one value, "on|off": one of these if it follows
};

// Null where the word is nobody's.
const ForeignWord* find_foreign_flag(std::string_view name);
const ForeignWord* find_foreign_command(std::string_view name);

}  // namespace realizar::cli
