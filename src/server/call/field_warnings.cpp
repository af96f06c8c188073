#include "server/call/field_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/suggest.h"
#include "sampling/parameters.h"
#include "server/call/protocol.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxWarnings = 4;
constexpr size_t kMaxUnknown = 64;  // fields that are examined
constexpr size_t kMinLetters = 4;   // shorter names resemble everything

// The dialects with bodies, except those without fields of their own.
constexpr const Protocol* kDialects[] = {&kChatCompletions, &kCompletions,    &kEmbeddings,  &kRerank,
                                         &kScore,           &kResponses,      &kMessages,    &kFim,
                                         &kLlamaCompletion, &kLlamaInfill,    &kTokenize,    &kDetokenize,
                                         &kOllamaChat,      &kOllamaGenerate, &kOllamaEmbed, &kOllamaEmbeddings};

// maxTokens and max-tokens are max_tokens in other languages' spelling.
std::string snake_case(const std::string& name) {
  std::string snake;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!snake.empty()) snake += '_';
      snake += static_cast<char>(c - 'A' + 'a');
    } else {
      snake += c == '-' ? '_' : c;
    }
  }
  return snake;
}

// The field that the name is a typo of; "" if there is none.
std::string meant_by(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f && c != '\''; });
  if (!is_plain || name.size() < kMinLetters) return {};
  const std::string snake = snake_case(name);
  if (std::ranges::binary_search(known_fields(), snake)) return snake;
  const std::string near = closest(name, known_fields());
  return near.size() < kMinLetters ? std::string() : near;
}

// Ollama's clients put sampler names in a separate object.
bool asks_for_mirostat(const Json& body) {
  const auto options = body.find("options");
  if (options == body.end() || !options->is_object() || find_sampling_parameter("mirostat") != nullptr) return false;
  const Json mirostat = options->value("mirostat", Json());
  return mirostat.is_number() && mirostat != 0;
}

}  // namespace

const std::vector<std::string>& known_fields() {
  static const std::vector<std::string> kNames = [] {
    std::set<std::string> names;
    for (const Protocol* dialect : kDialects) {
      for (const KnownField& field : dialect->fields()) names.emplace(field.name);
    }
    return std::vector(names.begin(), names.end());
  }();
  return kNames;
}

std::string field_warnings(const Json& body) {
  std::string warnings;
  size_t n_unknown = 0, n_warnings = 0;
  for (const auto& [name, value] : body.items()) {
    if (std::ranges::binary_search(known_fields(), name)) continue;
    if (++n_unknown > kMaxUnknown || n_warnings == kMaxWarnings) break;
    const std::string meant = meant_by(name);
    if (meant.empty() || body.contains(meant)) continue;
    warnings += fmt::format("{}'{}' is not a field; did you mean '{}'?", n_warnings++ > 0 ? " " : "", name, meant);
  }
  if (asks_for_mirostat(body)) {
    warnings += fmt::format("{}'options.mirostat' is not built.", n_warnings > 0 ? " " : "");
  }
  return warnings;
}

}  // namespace realizar::server
