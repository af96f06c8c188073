#include "cli/prompts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/try.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/options.h"
#include "cli/output.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PromptLine {
  std::string prompt, system;
  std::optional<uint32_t> max_tokens;
  std::optional<float> temperature;
  std::optional<uint64_t> seed;
};

Error wrong_field(const std::string& name, const char* expected, const Json& actual) {
  return invalid_argument(fmt::format("{}: expected {}, actual {}", name, expected, dump(actual)), name);
}

Status set_field(PromptLine& line, const std::string& name, const Json& value) {
  if (name == "prompt" || name == "system") {
    if (!value.is_string()) return wrong_field(name, "a string", value);
    (name == "prompt" ? line.prompt : line.system) = value.get<std::string>();
  } else if (name == "max_tokens") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX) {
      return wrong_field(name, "a whole number", value);
    }
    line.max_tokens = value.get<uint32_t>();
  } else if (name == "seed") {
    if (!value.is_number_unsigned()) return wrong_field(name, "a whole number", value);
    line.seed = value.get<uint64_t>();
  } else if (name == "temperature") {
    if (!value.is_number()) return wrong_field(name, "a number", value);
    line.temperature = value.get<float>();
  } else {
    return invalid_argument(
        fmt::format("'{}' is unknown; known are prompt, system, max_tokens, temperature and seed", name), name);
  }
  return {};
}

Result<PromptLine> parse_line(const std::string& text, const std::string& system) {
  PromptLine line;
  line.system = system;
  if (!text.starts_with('{')) {
    line.prompt = text;
    return line;
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return format_error("the line begins with '{' and is not a JSON object", "prompt");
  for (const auto& [name, value] : json.items()) RZ_CHECK_OK(set_field(line, name, value));
  if (!json.contains("prompt")) return invalid_argument("the line has no \"prompt\"", "prompt");
  return line;
}

class PromptRun {
 public:
  PromptRun(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options)
      : model_(model), args_(args), options_(options) {}

  int run(const std::vector<std::string>& lines) {
    outputs_.resize(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) add(i, lines[i]);
    const InterruptScope interrupt(model_);
    const Status status = model_.generate_texts(
        requests_, TextOptions{.stop = options_.stop, .split_reasoning = options_.split_reasoning},
        [this](size_t idx, Result<TextGeneration> result) { tell(prompt_of_request_[idx], std::move(result)); });
    if (!status.ok()) return fail(status.error());
    if (interrupt.interrupted()) return kInterrupted;
    return has_failed_ ? kFailure : kOk;
  }

 private:
  // A line that gives no request has its error told in its turn.
  void add(size_t idx, const std::string& text) {
    Result<Request> request = request_of(text);
    if (!request.ok()) return tell(idx, std::move(request).error());
    requests_.push_back(std::move(*request));
    prompt_of_request_.push_back(idx);
  }

  Result<Request> request_of(const std::string& text) const {
    RZ_TRY(const PromptLine line, parse_line(text, args_.system));
    Request request;
    RZ_TRY(request.prompt, tokens_of(line));
    RZ_CHECK_OK(constrain(model_, options_, request));
    request.sampling = options_.sampling;
    if (line.temperature) request.sampling.temperature = *line.temperature;
    request.sampling.seed = seed_or_drawn(line.seed ? line.seed : options_.seed);
    request.max_tokens = line.max_tokens ? line.max_tokens : options_.max_tokens;
    return request;
  }

  Result<std::vector<TokenId>> tokens_of(const PromptLine& line) const {
    if (args_.is_raw) return model_.tokenize(line.prompt, true, true);
    Conversation conversation;
    conversation.set_system(line.system);
    RZ_CHECK_OK(conversation.set_beginning(args_.messages));
    conversation.ask(line.prompt);
    return chat_tokens(model_, conversation.template_variables(), options_.reasoning);
  }

  void tell(size_t idx, Result<TextGeneration> result) {
    Json json{{"index", idx}};
    if (result.ok()) {
      json["text"] = result->text;
      if (!result->reasoning.empty() && !options_.hide_reasoning) json["reasoning"] = result->reasoning;
      json.update(ending_json(*result));
    } else {
      json["error"] = {{"code", to_string(result.error().code)}, {"message", result.error().message}};
      has_failed_ = true;
    }
    outputs_[idx] = dump(json) + '\n';
    for (; n_printed_ < outputs_.size() && outputs_[n_printed_]; ++n_printed_) {
      if (is_output_lost_) continue;
      is_output_lost_ = !print_model_text(*outputs_[n_printed_]);
      outputs_[n_printed_]->clear();
    }
    if (!is_output_lost_) return;
    has_failed_ = true;
    model_.cancel();
  }

  LanguageModel& model_;
  const PromptsArgs& args_;
  const AnswerOptions& options_;
  std::vector<Request> requests_;
  std::vector<size_t> prompt_of_request_;
  std::vector<std::optional<std::string>> outputs_;  // [n_prompts], printed in their order
  size_t n_printed_ = 0;
  bool has_failed_ = false, is_output_lost_ = false;
};

}  // namespace

int answer_prompts(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options) {
  const auto text = read_text(args.file);
  if (!text.ok()) return fail(text.error());
  const std::vector<std::string> lines = lines_of(*text);
  if (lines.empty()) return fail(invalid_argument(source_name(args.file) + " holds no prompt", "prompts"));
  return PromptRun(model, args, options).run(lines);
}

}  // namespace realizar::cli
