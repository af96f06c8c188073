#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/chat.h"
#include "cli/command.h"
#include "cli/generation.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/trace_report.h"

namespace realizar::cli {
namespace {

struct RunArgs {
  std::vector<std::string> positional;  // [MODEL] [PROMPT]
  std::string model, prompt, system;
  bool has_prompt = false;
  bool raw = false, json = false, stats = false;
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;
  uint32_t n_logprobs = 0;
  TraceFlags trace;
  LoadFlags load;
  SamplingFlags sampling;
};

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

bool names_a_model(const std::string& text) {
  std::error_code error;
  return text.ends_with(".gguf") || text.ends_with(".safetensors") || std::filesystem::exists(text, error);
}

// Sorts the positional words into model and prompt; what neither names comes from the bundle and standard input.
Status resolve_words(RunArgs& args) {
  for (std::string& word : args.positional) {
    const bool is_model =
        args.model.empty() && (args.positional.size() == 2 ? &word == &args.positional[0] : names_a_model(word));
    if (is_model) {
      args.model = word;
    } else if (!args.has_prompt) {
      args.prompt = word;
      args.has_prompt = true;
    } else {
      return invalid_argument("one prompt is enough; '" + word + "' is a second one (quote a prompt of several words)");
    }
  }
  if (args.model.empty()) {
    RZ_TRY(args.model, bundled_model_path());
  }
  if (args.prompt == "-" || (!args.has_prompt && !stdin_is_terminal())) {
    RZ_TRY(args.prompt, read_text("-"));
    args.has_prompt = true;
  }
  return {};
}

Result<std::vector<TokenId>> prompt_tokens(const LanguageModel& model, const RunArgs& args) {
  if (args.raw) return model.tokenize(args.prompt, true, true);
  std::vector<ChatMessage> messages;
  if (!args.system.empty()) messages.push_back({"system", args.system});
  messages.push_back({"user", args.prompt});
  return model.chat_prompt(messages);
}

int answer_once(LanguageModel& model, const RunArgs& args, const AnswerOptions& options, StartTimes times) {
  const auto start = Clock::now();
  auto tokens = prompt_tokens(model, args);
  if (!tokens.ok()) return fail(tokens.error());
  times.tokenize_ms = ms_between(start, Clock::now());
  auto answer = stream_answer(model, std::move(*tokens), options);
  if (!answer.ok()) return fail(answer.error());
  if (args.stats) std::fputs(stats_text(model.info().backend, times, answer->generation.stats).c_str(), stderr);
  if (auto status = report_trace(args.trace, model, times, *answer); !status.ok()) return fail(status.error());
  if (answer->output_failed) return kFailure;
  return answer->interrupted ? kInterrupted : kOk;
}

int run(RunArgs& args) {
  if (auto status = resolve_words(args); !status.ok()) return fail(status.error());
  if (args.has_prompt && args.prompt.empty()) return fail(invalid_argument("the prompt is empty", "prompt"));

  const auto start = Clock::now();
  auto model = load_model(args.model, args.load.options);
  if (!model.ok()) return fail(model.error());
  model->set_trace(args.trace.wanted());
  const StartTimes times{ms_between(start, Clock::now()), 0};

  auto sampling = args.sampling.over(model->default_sampling());
  if (!sampling.ok()) return fail(sampling.error());
  const AnswerOptions options{*sampling, args.max_tokens, args.stop, args.n_logprobs, args.json};
  if (args.has_prompt) return answer_once(*model, args, options, times);
  return chat(*model, options, args.system, args.stats);
}

}  // namespace

void add_run(CommandLine& line) {
  auto args = std::make_shared<RunArgs>();
  Flags flags = line.command("run", "Generate text: answer a prompt, or chat");
  flags
      .option("words", args->positional,
              "[MODEL] [PROMPT]: a single word is the model if it names a file or folder or ends in .gguf or "
              ".safetensors, else the prompt. Without a model the bundled one answers; without a prompt it is read "
              "from standard input, or, on a terminal, a chat begins")
      .at_most(2)
      .shown_as("[MODEL] [PROMPT]");
  flags.option("-m,--model", args->model, "Model: a .gguf file, a Hugging Face folder or a .safetensors file");
  const Option prompt = flags.option("-p,--prompt", args->prompt, "Prompt; '-': from standard input");
  flags.flag("--raw", args->raw, "Use the prompt as it is, without the model's chat template");
  flags.option("--system", args->system, "System message");
  flags.option("-n,--max-tokens", args->max_tokens, "Generate at most so many tokens");
  flags.option("--stop", args->stop, "Stop before this text; may be repeated").one_at_a_time();
  flags.flag("--json", args->json, "Print one JSON event a line");
  flags.option("--logprobs", args->n_logprobs, "With --json: the log-probabilities of so many likeliest tokens")
      .in_range(0, 100);
  flags.flag("--stats", args->stats, "Print the device, times, tokens/s and peak memory on standard error");
  args->trace.add_to(flags);
  args->load.add_to(flags);
  args->sampling.add_to(flags);
  flags.runs([args, prompt] {
    args->has_prompt = prompt.is_given();
    return run(*args);
  });
}

}  // namespace realizar::cli
