// Any bytes as a JSON Schema, exact and relaxed: an error, or a grammar whose masks agree with what it accepts.
#include <cstdint>
#include <string_view>

#include "grammar_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view schema(reinterpret_cast<const char*>(data), size);
  for (const bool relaxed : {false, true}) {
    const auto grammar = realizar::grammar::Grammar::from_json_schema(
        schema, {.max_source_bytes = 4096, .max_states = 20'000}, {.relaxed = relaxed});
    if (grammar.ok()) walk_grammar(*grammar, static_cast<uint32_t>(size));
  }
  return 0;
}
