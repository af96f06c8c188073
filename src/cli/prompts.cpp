#include "cli/prompts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/json_text.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/user_json.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxAnswersBytes = uint64_t{4} << 30;

struct PromptLine {
  std::string prompt, system;
  std::optional<uint32_t> max_tokens;
  std::optional<float> temperature;
  std::optional<uint64_t> seed;
};

Error wrong_field(const std::string& name, const char* expected, const Json& actual) {
  return invalid_argument(fmt::format("{}: expected {}, actual {}", name, expected, json_text(actual)), name);
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

// The index in a line of answers; nullopt for an interrupted answer.
Result<std::optional<size_t>> answered_index(const std::string& text, size_t n_prompts, const std::string& file) {
  const Json json = Json::parse(text, nullptr, false);
  const bool is_answer = json.is_object() && json.contains("index") && json["index"].is_number_unsigned();
  if (!is_answer) return format_error(file + " has a line that is not an answer of --prompts", "resume");
  const auto idx = json["index"].get<uint64_t>();
  if (idx >= n_prompts) {
    return invalid_argument(
        fmt::format("{} is of other prompts: it has an answer with the index {}, and there are {} prompts", file, idx,
                    n_prompts),
        "resume");
  }
  const bool is_interrupted = json.contains("finish_reason") && json["finish_reason"] == "cancelled";
  return is_interrupted ? std::nullopt : std::optional<size_t>(idx);
}

// An incomplete last line was left by a killed run: it is cut off if the new answers are appended to that file.
Result<std::vector<bool>> answered_before(const std::string& file, size_t n_prompts) {
  std::vector<bool> is_done(n_prompts, false);
  if (file.empty() || !version_at(file)) return is_done;
  RZ_TRY(std::string text, read_file(file, kMaxAnswersBytes));
  const size_t n_whole = text.rfind('\n') + 1;
  if (n_whole < text.size()) RZ_CHECK_OK(cut_output(file, n_whole));
  text.resize(n_whole);
  for (const std::string& line : lines_of(text)) {
    RZ_TRY(const std::optional<size_t> idx, answered_index(line, n_prompts, file));
    if (idx) is_done[*idx] = true;
  }
  return is_done;
}

Json error_json(const Error& error) {
  Json json{{"code", to_string(error.code)}, {"message", error.message}};
  if (error.n_prompt > 0) json["n_prompt_tokens"] = error.n_prompt;
  if (error.n_ctx > 0) json["n_ctx"] = error.n_ctx;
  return json;
}

class PromptRun {
 public:
  PromptRun(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options)
      : model_(model), args_(args), options_(options) {}

  // `is_done`: the prompts that already have an answer.
  Result<int> run(const std::vector<std::string>& lines, const std::vector<bool>& is_done) {
    outputs_.resize(lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      if (is_done[i]) put(i, "");
      if (!is_done[i]) add(i, lines[i]);
    }
    if (requests_.empty()) return has_failed_ ? kFailure : kOk;
    const InterruptScope interrupt(model_);
    RZ_CHECK_OK(model_.generate_texts(
        requests_, TextOptions{.stop = options_.stop, .split_reasoning = options_.split_reasoning},
        [this](size_t idx, Result<TextGeneration> result) { tell(prompt_of_request_[idx], std::move(result)); }));
    if (interrupt.interrupted()) return kInterrupted;
    return has_failed_ ? kFailure : kOk;
  }

 private:
  // The error of an invalid line is reported in its place.
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
    request.ignore_eos = options_.ignore_eos;
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
    const bool is_interrupted = result.ok() && result->finish_reason == FinishReason::kCancelled;
    if (is_interrupted) return put(idx, "");
    Json json{{"index", idx}};
    if (result.ok()) {
      json["text"] = result->text;
      if (!result->reasoning.empty() && !options_.hide_reasoning) json["reasoning"] = result->reasoning;
      json.update(ending_json(*result));
    } else {
      json["error"] = error_json(result.error());
      has_failed_ = true;
    }
    put(idx, json_text(json) + '\n');
  }

  void put(size_t idx, std::string line) {
    if (args_.order == "finished") return print_whole(line);
    outputs_[idx] = std::move(line);
    for (; n_printed_ < outputs_.size() && outputs_[n_printed_]; ++n_printed_) {
      print_whole(*outputs_[n_printed_]);
      outputs_[n_printed_]->clear();
    }
  }

  void print_whole(const std::string& line) {
    if (line.empty() || is_output_lost_ || print_whole_line(line)) return;
    is_output_lost_ = has_failed_ = true;
    model_.cancel();
  }

  LanguageModel& model_;
  const PromptsArgs& args_;
  const AnswerOptions& options_;
  std::vector<Request> requests_;
  std::vector<size_t> prompt_of_request_;
  std::vector<std::optional<std::string>> outputs_;  // [n_prompts], printed in order
  size_t n_printed_ = 0;
  bool has_failed_ = false, is_output_lost_ = false;
};

}  // namespace

Result<int> answer_prompts(LanguageModel& model, const PromptsArgs& args, const AnswerOptions& options) {
  RZ_TRY(const std::string text, read_text(args.file));
  const std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) return invalid_argument(source_name(args.file) + " holds no prompt", "prompts");
  RZ_TRY(const std::vector<bool> is_done, answered_before(args.resume, lines.size()));
  return PromptRun(model, args, options).run(lines, is_done);
}

}  // namespace realizar::cli
