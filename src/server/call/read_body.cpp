#include "server/call/read_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/suggest.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/protocol.h"

namespace realizar::server {
namespace {

Status check_gives_text(const ServedModel& model) {
  if (model.loaded->info.gives_text) return {};
  return invalid_argument(
      fmt::format("model: {} is an encoder or a reranker, which generates no text: it answers at {}", model.id,
                  model.loaded->pooling() == Pooling::kRank ? "/v1/rerank" : "/v1/embeddings"),
      "model");
}

// Warns about parts of the schema that the answers' grammar does not enforce, and about tools for which the model has
// no call format of its own.
void add_warnings(const CompletionPlan& plan, std::string& warnings) {
  const auto add = [&](const std::string& warning) {
    if (!warnings.empty() && !warning.empty()) warnings += ' ';
    warnings += warning;
  };
  const bool has_constraint = !plan.requests.empty() && plan.requests[0].constraint != nullptr;
  if (has_constraint) add(schema_warning(plan.requests[0].constraint->left_out()));
  if (!plan.choice.tools.empty() && plan.choice.format->is_general) {
    add("The model's chat template shows no form of tool calls: they are read as "
        "<tool_call>{\"name\", \"arguments\"}</tool_call>.");
  }
}

// A prompt that is too long for the model also exceeds the server's own limit, which its client must observe.
Error with_own_limit(Error error, uint32_t most) {
  const bool is_for_model = error.code == ErrorCode::kContextLengthExceeded && error.n_ctx > most;
  if (most == 0 || !is_for_model) return error;
  error.n_ctx = most;
  error.message = error.n_prompt > 0
                      ? fmt::format("the prompt has {} tokens, this server takes {}", error.n_prompt, most)
                      : fmt::format("{}; this server takes prompts of {} tokens", error.message, most);
  return error;
}

Result<Prepared> read_whole(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                            const RequestContext& context, BodyNotes& notes) {
  const IdLimits limits{model->loaded->info.n_ctx, max_text_bytes(*model)};
  RZ_TRY(Json json, parse_json(std::exchange(body, {}).bytes, limits));
  const TakenApartAtEnd end{json};
  if (!json.is_object()) return invalid_argument("the body is not a JSON object");
  notes.warning = field_warnings(json);
  if (protocol.gives_text) RZ_CHECK_OK(check_gives_text(*model));
  const auto start = Clock::now();
  Fields fields(json);
  auto prepared = protocol.read(fields, model, context);
  notes.prepare_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (!prepared.ok()) return prepared;
  if (const auto* plan = std::get_if<CompletionPlan>(&*prepared)) add_warnings(*plan, notes.warning);
  return prepared;
}

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

// Percent-encoded as in a URI, unless it is plain text.
std::string header_text(const std::string& place) {
  constexpr size_t kMaxPlaceBytes = 90;
  std::string text;
  for (const char c : place) {
    if (text.size() >= kMaxPlaceBytes) return text + "...";
    const bool is_plain = c > ' ' && c < 0x7f && c != '\'';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

}  // namespace

Result<Prepared> read_body(HttpBody& body, const Protocol& protocol, const ServedModelPtr& model,
                           const RequestContext& context, BodyNotes& notes) {
  Result<Prepared> prepared = read_whole(body, protocol, model, context, notes);
  if (prepared.ok()) return prepared;
  return with_own_limit(prepared.error(), context.max_prompt_tokens);
}

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
  return warnings;
}

std::string schema_warning(std::span<const std::string> left_out) {
  constexpr size_t kMaxPlaces = 4;
  if (left_out.empty()) return {};
  std::string places;
  for (size_t i = 0; i < left_out.size() && i < kMaxPlaces; ++i) {
    places += fmt::format("{}'{}'", i > 0 ? ", " : "", header_text(left_out[i]));
  }
  if (left_out.size() > kMaxPlaces) places += fmt::format(" and {} more", left_out.size() - kMaxPlaces);
  return fmt::format("The answer is not held to {} of its schema.", places);
}

}  // namespace realizar::server
