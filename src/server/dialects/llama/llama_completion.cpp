// POST /completion and /infill of llama.cpp's server (tools/server/README.md there): texts, with everything known about
// them. A stream has an event for each token, and one with `stop` at the end of each answer.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/llama_prompts.h"
#include "server/call/logprobs.h"
#include "server/call/protocol.h"
#include "server/call/request_context.h"
#include "server/dialects/llama/llama_fields.h"
#include "text/utf8.h"

namespace realizar::server {
namespace {

struct PromptShown {
  std::string text;
  size_t n_tokens;
};

struct TextSoFar {
  std::string content;
  TokenLog tokens;
  bool has_new_line = false;
};

const char* stop_type_of(const Choice& choice) {
  if (!choice.stop_string().empty()) return "word";
  return choice.is_cut() ? "limit" : "eos";
}

// The field at a path with slashes; null: absent.
const Json* find_field(const Json& json, std::string_view path) {
  const Json* at = &json;
  while (true) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    if (!at->is_object() || !at->contains(name)) return nullptr;
    at = &(*at)[name];
    if (slash == std::string_view::npos) return at;
    path.remove_prefix(slash + 1);
  }
}

const char* llama_error_type(const ApiError& error) {
  if (error.n_ctx > 0) return "exceed_context_size_error";
  if (error.status == 401) return "authentication_error";
  if (error.status == 403) return "permission_error";
  if (error.status == 404) return "not_found_error";
  if (error.status == 501) return "not_supported_error";
  if (error.status == 429 || error.status == 503) return "unavailable_error";
  return error.status >= 500 ? "server_error" : "invalid_request_error";
}

class LlamaWriter final : public ResponseWriter {
 public:
  LlamaWriter(std::string model, TokenText token, LlamaFields fields, std::vector<PromptShown> prompts, bool is_list)
      : model_(std::move(model)),
        token_(std::move(token)),
        fields_(std::move(fields)),
        prompts_(std::move(prompts)),
        is_list_(is_list),
        texts_(prompts_.size() * fields_.generation.n) {}

  std::string stream_update(size_t choice_idx, const ChoiceUpdate& update) override {
    const std::string text = text_of(update);
    TextSoFar& told = texts_[choice_idx];
    told.has_new_line = told.has_new_line || text.find('\n') != std::string::npos;
    std::string bytes;
    for (const auto& progress : update.progress) {
      Json json = head(choice_idx, "", {}, timings_of(progress));
      json["prompt_progress"] = progress_json(progress, prompt_of(choice_idx).n_tokens);
      bytes += sse(json);
    }
    std::string_view rest = text;
    for (size_t i = 0; i < update.tokens.size(); ++i) {
      const bool is_last = i + 1 == update.tokens.size();
      const TokenLog::Token token = update.tokens[i];
      // Roughly the token's own text.
      const std::string_view own = is_last ? rest : text::whole_chars(rest, token_(token.id).size());
      TokenLog one;
      one.add(token.id, token.logprob, token.top);
      bytes += chunk(choice_idx, own, one, update);
      rest.remove_prefix(own.size());
    }
    if (!rest.empty()) bytes += chunk(choice_idx, rest, {}, update);
    return bytes;
  }

  std::string stream_choice_end(size_t choice_idx, const Choice& choice) override {
    return sse(shown(end_json(choice_idx, choice)));
  }

  std::string stream_end(const Usage&, const Json* trace) override {
    return trace == nullptr ? std::string() : sse({{"trace", *trace}});
  }

  std::string stream_error(const ApiError& error) override {
    return "data: " + llama_error_response(error).body + "\n\n";
  }

  void collect(size_t choice_idx, ChoiceUpdate update) override {
    TextSoFar& text = texts_[choice_idx];
    text.content += text_of(update);
    text.tokens.append(update.tokens);
  }

  Json whole(const Choices& choices, const Usage&, JsonPieces& pieces) override {
    if (!is_list_ && choices.size() == 1) return answer_json(0, *choices[0], pieces);
    return pieces.list(choices.size(),
                       [this, &choices, &pieces](size_t i) { return answer_json(i, *choices[i], pieces); });
  }

 private:
  Json answer_json(size_t choice_idx, const Choice& choice, JsonPieces& pieces) {
    TextSoFar& text = texts_[choice_idx];
    text.has_new_line = text.content.find('\n') != std::string::npos;
    Json json = end_json(choice_idx, choice);
    json["content"] = std::move(text.content);
    if (fields_.return_tokens) json["tokens"] = spelled(text.tokens, spelled_id, pieces);
    if (tells_probabilities()) json["completion_probabilities"] = spelled(text.tokens, probability(), pieces);
    return shown(std::move(json));
  }

  TokenProbability probability() const { return {token_, fields_.generation.request.logprobs_after_chain}; }
  bool tells_probabilities() const { return fields_.generation.request.logprobs; }

  const PromptShown& prompt_of(size_t choice_idx) const { return prompts_[choice_idx / fields_.generation.n]; }

  // Members of every event of a stream.
  Json head(size_t choice_idx, std::string_view content, const TokenLog& tokens, const Timings& timings) const {
    Json json{{"index", choice_idx},
              {"content", content},
              {"tokens", spelled(tokens, spelled_id)},
              {"stop", false},
              {"id_slot", fields_.generation.id_slot},
              {"tokens_predicted", timings.n_generated},
              {"tokens_evaluated", prompt_of(choice_idx).n_tokens}};
    if (fields_.extras.timings) json["timings"] = timings_json(timings);
    return json;
  }

  std::string chunk(size_t choice_idx, std::string_view content, const TokenLog& tokens,
                    const ChoiceUpdate& update) const {
    Json json = head(choice_idx, content, tokens, update.timings);
    if (tells_probabilities() && !tokens.empty()) json["completion_probabilities"] = spelled(tokens, probability());
    return sse(json);
  }

  // The data known at an answer's end, without its text.
  Json end_json(size_t choice_idx, const Choice& choice) const {
    const Timings timings = choice.timings();
    Json settings = fields_.settings;
    settings["seed"] = choice.request().sampling.seed;
    return {{"index", choice_idx},
            {"content", ""},
            {"tokens", Json::array()},
            {"id_slot", fields_.generation.id_slot},
            {"stop", true},
            {"model", model_},
            {"tokens_predicted", choice.n_tokens()},
            {"tokens_evaluated", timings.n_prompt},
            {"generation_settings", std::move(settings)},
            {"prompt", prompt_of(choice_idx).text},
            {"has_new_line", texts_[choice_idx].has_new_line},
            {"truncated", choice.is_truncated()},
            {"stop_type", stop_type_of(choice)},
            {"stopping_word", choice.stop_string()},
            {"tokens_cached", timings.n_cached},
            {"timings", timings_json(timings)}};
  }

  // The requested fields; nested ones keep their whole path.
  Json shown(Json json) const {
    if (fields_.response_fields.empty()) return json;
    Json wanted = Json::object();
    for (const std::string& path : fields_.response_fields) {
      if (const Json* field = find_field(json, path)) wanted[path] = *field;
    }
    return wanted;
  }

  std::string model_;
  TokenText token_;
  LlamaFields fields_;
  std::vector<PromptShown> prompts_;
  bool is_list_;
  std::vector<TextSoFar> texts_;
};

using ReadPrompts = Result<LlamaPrompts> (*)(const Fields& body, const ServedModel& model,
                                             const RequestContext& context);

template <ReadPrompts read_prompts>
Result<Prepared> read_llama(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  RZ_TRY(LlamaFields fields, read_llama_fields(body.json(), *model, context));
  RZ_TRY(LlamaPrompts prompts, read_prompts(body, *model, context));
  const GenerationFields& generation = fields.generation;
  if (prompts.prompts.size() * generation.n > kMaxAnswers) {
    return wrong("n_cmpl", "expected at most 1024 answers of all prompts");
  }
  CompletionPlan plan = empty_plan(generation);
  plan.n_per_prompt = generation.n;
  plan.prompt_field = "prompt";
  plan.choice.tells_tokens = fields.return_tokens || generation.stream;
  plan.n_keep = fields.n_keep;
  plan.lines = fields.lines;
  plan.tells_progress = fields.extras.progress;
  std::vector<PromptShown> shown;
  for (auto& tokens : prompts.prompts) {
    shown.push_back({model->tokenizer().decode(tokens, {.skip_special = false}), tokens.size()});
    if (context.log_prompts) plan.logged_prompt += shown.back().text;
    Request request = generation.request;
    request.prompt = std::move(tokens);
    for (uint32_t i = 0; i < generation.n; ++i) plan.requests.push_back(nth_request(request, i));
  }
  plan.writer = std::make_unique<LlamaWriter>(told_name(context, *model), token_text(model->tokenizer()),
                                              std::move(fields), std::move(shown), prompts.is_list);
  return prepared(std::move(plan));
}

constexpr const char* kCompletionPrompt[] = {"prompt"};
constexpr const char* kInfillPrompt[] = {"prompt", "input_prefix", "input_suffix", "input_extra"};

}  // namespace

HttpResponse llama_error_response(const ApiError& error) {
  Json json{{"code", error.status}, {"message", bounded(error.message)}, {"type", llama_error_type(error)}};
  if (error.n_prompt > 0) json["n_prompt_tokens"] = error.n_prompt;
  if (error.n_ctx > 0) json["n_ctx"] = error.n_ctx;
  HttpResponse response = error_response(error);
  response.body = dump({{"error", std::move(json)}});
  return response;
}

const Protocol kLlama{.spell_error = llama_error_response};
const Protocol kLlamaCompletion{.read = read_llama<read_llama_prompts>,
                                .fields = fields_of<kCompletionPrompt, llama_fields>,
                                .gives_text = true,
                                .spell_error = llama_error_response,
                                .terminator = ""};
const Protocol kLlamaInfill{.read = read_llama<read_llama_infill>,
                            .fields = fields_of<kInfillPrompt, llama_fields>,
                            .gives_text = true,
                            .spell_error = llama_error_response,
                            .terminator = ""};

}  // namespace realizar::server
