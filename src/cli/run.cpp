#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/chat.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/generation.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/prompts.h"
#include "cli/pull_view.h"
#include "cli/run_words.h"
#include "cli/store_flags.h"
#include "cli/tool_box.h"
#include "cli/trace_report.h"
#include "cli/writer.h"
#include "hub/locate.h"
#include "sampling/sampler.h"

namespace realizar::cli {
namespace {

struct RunArgs {
  std::vector<std::string> words;  // [MODEL] [PROMPT...]
  std::string model, prompt, prompt_file, system;
  std::string messages;                            // stored with the model
  bool has_prompt = false, is_first_word = false;  // the model is the first word
  bool raw = false, json = false, stats = false, hide_reasoning = false;
  bool no_shift = false, no_history = false, continues = false, pull = false, ignore_eos = false;
  std::optional<uint32_t> max_tokens;
  std::vector<std::string> stop;
  uint32_t n_logprobs = 0;
  PromptsArgs prompts;
  uint32_t max_seqs = 4;  // with --prompts
  TraceFlags trace;
  LoadFlags load;
  SamplingFlags sampling;
  ReasoningFlags reasoning;
  FormFlags form;
  std::optional<AnswerForm> answer_form;  // the parsed form
  ToolFlags tools;
  bool standalone = false;
  std::function<std::string()> loading_option = {};  // the first given option that changes how models load
};

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// Whether standard input has text: a pipe, a file or a socket, and not /dev/null or a terminal.
bool stdin_holds_text() {
  struct stat info {};
  return ::fstat(STDIN_FILENO, &info) == 0 && !S_ISCHR(info.st_mode);
}

// Reads standard input to its end. While nothing arrives, as from a terminal that ssh has turned into a pipe, a line
// explains the wait.
Result<std::string> read_stdin() {
  struct pollfd input {
    STDIN_FILENO, POLLIN, 0
  };
  constexpr int kPatienceMs = 2000;
  if (!stdin_is_terminal() && ::poll(&input, 1, kPatienceMs) == 0) {
    warn("waiting for text on standard input; </dev/null says that there is none");
  }
  return read_text("-");
}

// The last line break of a file or a pipe does not belong to the text.
std::string without_last_line_break(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

// Appends a text to the prompt: the instruction first, then its subject.
void add_to_prompt(RunArgs& args, std::string text) {
  if (!args.raw) text = without_last_line_break(std::move(text));
  if (!args.prompt.empty() && !text.empty()) args.prompt += args.raw ? "" : "\n\n";
  args.prompt += text;
  args.has_prompt = true;
}

// A typed line; nullopt at the end of the input.
std::optional<std::string> typed_line() {
  std::string line;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

bool agrees_to_pull(const std::string& name, uint64_t n_bytes) {
  std::fputs(
      fmt::format("{} is not on this machine. Download {}? [Y/n] ", printable(name), bytes_text(n_bytes)).c_str(),
      stderr);
  const auto answer = typed_line();
  return answer && (answer->empty() || equals_ignoring_case(*answer, "y") || equals_ignoring_case(*answer, "yes"));
}

// A first word that is not a model's name may have been meant as a prompt.
Error with_prompts_way(Error error, const RunArgs& args) {
  if (!args.is_first_word || names_a_model(args.model)) return error;
  std::string text = args.words[0];
  for (size_t i = 1; i < args.words.size(); ++i) text += ' ' + args.words[i];
  error.message += args.words.size() == 1
                       ? fmt::format("; if it is a prompt: realizar run -p {}", shown(text))
                       : fmt::format("; if these words are a prompt: realizar run \"{}\"", shown(text));
  return error;
}

// Reads the form of answers, which needs no model, and finds the model. If none is named, the bundled one is used. A
// missing model may be downloaded; then the messages stored with it are set too.
Status make_ready(RunArgs& args) {
  RZ_TRY(args.answer_form, args.form.read());
  if (args.model.empty()) {
    RZ_TRY(args.model, bundled_in_place("run", "answers"));
  }
  const StoreFlags& store = args.load.store;
  auto found = store.find(args.model);
  const bool may_ask = stdin_is_terminal() && stderr_is_terminal();
  const auto name = hub::parse_name(args.model);
  const bool is_missing = !found.ok() && found.error().code == ErrorCode::kNotFound && name.ok();
  if (is_missing && !store.choices.offline && (args.pull || (may_ask && hub::is_known_name(args.model)))) {
    RZ_TRY(const hub::HubSettings settings, store.hub_settings());
    const auto agrees = [&](uint64_t n_bytes) { return args.pull || agrees_to_pull(args.model, n_bytes); };
    RZ_TRY([[maybe_unused]] const auto model, pull_shown(*name, store.library().store(), settings, agrees));
    found = store.find(args.model);
  }
  if (!found.ok()) return with_prompts_way(found.error(), args);
  if (args.system.empty()) args.system = found->system;
  args.messages = found->messages;
  return {};
}

// Splits the words into model and prompt.
Status resolve_words(RunArgs& args) {
  const RunWords words = read_run_words(args.words, !args.model.empty());
  args.is_first_word = words.model.has_value();
  if (words.model) args.model = *words.model;
  if (words.prompt && args.has_prompt) {
    return invalid_argument("one prompt is enough; '" + *words.prompt + "' is a second one", "prompt");
  }
  if (words.prompt) {
    args.prompt = *words.prompt;
    args.has_prompt = true;
  }
  if (args.prompts.file.empty() || (!args.has_prompt && args.prompt_file.empty())) return {};
  return invalid_argument("there is a prompt and there is --prompts: put the prompt into the file of --prompts",
                          "prompts");
}

// Adds the parts of the prompt from a file and from standard input.
Status complete_prompt(RunArgs& args) {
  if (!args.prompt_file.empty()) {
    RZ_TRY(std::string text, read_text(args.prompt_file));
    add_to_prompt(args, std::move(text));
  }
  const bool is_stdin = args.prompt == "-";
  if (is_stdin) args.prompt.clear();
  if (is_stdin || (args.has_prompt ? args.prompt_file != "-" && stdin_holds_text() : !stdin_is_terminal())) {
    RZ_TRY(std::string text, read_stdin());
    add_to_prompt(args, std::move(text));
  }
  return {};
}

// Null if no servers are configured.
Result<std::unique_ptr<ToolBox>> open_tools(const RunArgs& args, bool wants_all) {
  if (!args.tools.mcp.is_given()) return std::unique_ptr<ToolBox>();
  return ToolBox::open(args.tools, wants_all);
}

Result<int> answer_once(Writer& writer, const RunArgs& args, const AnswerOptions& options, ToolBox* tools,
                        StartTimes times) {
  Conversation conversation;
  conversation.set_system(args.system);
  RZ_CHECK_OK(conversation.set_beginning(args.messages));
  conversation.ask(args.prompt);
  const auto make_prompt = [&]() -> Result<Prompt> {
    const auto start = Clock::now();
    auto variables = conversation.template_variables(tools == nullptr ? mcp::Json() : tools->tools());
    RZ_TRY(Prompt prompt,
           args.raw ? writer.raw_prompt(args.prompt) : writer.chat_prompt(std::move(variables), options.reasoning));
    times.tokenize_ms = ms_between(start, Clock::now());
    return prompt;
  };
  const int side = side_fd(options.json);
  LineEditor editor(tools == nullptr ? -1 : editing_fd(side), {});
  Person person{side, options.json, {}};
  if (editing_fd(side) >= 0) {
    person.ask = [&](const std::string& question, std::string& line) { return editor.read(question, line); };
  }
  RZ_TRY(const Answer answer, answer_question(writer, conversation, make_prompt, options, tools, person));
  if (args.stats) {
    const std::string text = stats_text(writer.info().backend, times, answer.generation.stats);
    std::fputs((text + memory_text(writer.info())).c_str(), stderr);
  }
  if (writer.local() != nullptr) RZ_CHECK_OK(report_trace(args.trace, *writer.local(), {options, times, answer}));
  if (answer.output_failed) return kFailure;
  return answer.interrupted ? kInterrupted : kOk;
}

// Why the model is loaded in this process although a server is running; "": not necessary.
std::string standalone_reason(const RunArgs& args) {
  if (const std::string option = args.loading_option(); !option.empty()) return option;
  if (args.trace.wanted() || args.trace.token_times) return "--trace";
  return args.json ? "--json" : "";
}

// Uses the running server, if there is one that can load the model, else this process.
Result<std::unique_ptr<Writer>> open_writer(const RunArgs& args, const std::string& model) {
  auto service = args.standalone ? nullptr : Service::find_for(standalone_reason(args));
  if (service != nullptr) {
    auto writer = service_writer(std::move(service), model);
    if (writer.ok()) return writer;
    warn(fmt::format("the model is loaded in this process, since the running server cannot have it: {}",
                     writer.error().message));
  }
  RZ_TRY(LanguageModel loaded, load_writer(model, args.load));
  loaded.set_trace(args.trace.wanted());
  return local_writer(std::move(loaded));
}

struct Loaded {
  std::unique_ptr<Writer> writer;
  StartTimes times;
  AnswerOptions options;
};

AnswerOptions answer_options(const RunArgs& args, const SamplingParams& sampling, const Writer& writer) {
  return {.sampling = sampling,
          .seed = args.sampling.seed(),
          .max_tokens = args.max_tokens,
          .stop = args.stop.empty() ? writer.default_stop() : args.stop,
          .ignore_eos = args.ignore_eos,
          .n_logprobs = args.n_logprobs,
          .json = args.json,
          .split_reasoning = !args.raw,
          .hide_reasoning = args.hide_reasoning,
          .reasoning = args.reasoning.options(),
          .form = args.answer_form};
}

Result<Loaded> load(RunArgs& args, const ToolBox* tools = nullptr) {
  const auto start = Clock::now();
  RZ_TRY(std::unique_ptr<Writer> writer, open_writer(args, args.model));
  // A server adds the model's beginning of conversations itself.
  if (writer->local() == nullptr) args.messages.clear();
  if (tools != nullptr) RZ_CHECK_OK(writer->check_knows_tools(tools->tools()));
  const StartTimes times{ms_between(start, Clock::now()), 0};
  RZ_TRY(const SamplingParams sampling, writer->sampling(args.sampling));
  RZ_CHECK_OK(validate(sampling, writer->info().n_vocab));
  RZ_CHECK_OK(writer->check_reasoning(args.reasoning.options()));
  AnswerOptions options = answer_options(args, sampling, *writer);
  return Loaded{std::move(writer), times, std::move(options)};
}

Result<int> begin_chat(RunArgs& args) {
  RZ_TRY(auto tools, open_tools(args, false));
  RZ_TRY(Loaded loaded, load(args, tools.get()));
  const auto open = [&args](const std::string& model) { return open_writer(args, model); };
  return chat(std::move(loaded.writer),
              {std::move(loaded.options), args.model, args.system, args.messages, args.stats, !args.no_shift,
               !args.no_history, args.continues, args.load.store, open, args.sampling, args.trace, std::move(tools)});
}

Result<int> run_prompts(RunArgs& args) {
  args.load.options.batch.max_seqs = args.max_seqs;
  args.standalone = true;  // a separate batch, with its own cache
  RZ_TRY(Loaded loaded, load(args));
  args.prompts.system = args.system;
  args.prompts.messages = args.messages;
  args.prompts.is_raw = args.raw;
  return answer_prompts(*loaded.writer->local(), args.prompts, loaded.options);
}

Result<int> run(RunArgs& args) {
  use_utf8_locale();
  RZ_CHECK_OK(resolve_words(args));
  RZ_CHECK_OK(make_ready(args));
  if (!args.prompts.file.empty()) return run_prompts(args);
  // Standard input then contains the chat's messages.
  if (args.continues && !args.has_prompt) return begin_chat(args);
  RZ_CHECK_OK(complete_prompt(args));
  if (!args.has_prompt) return begin_chat(args);
  if (args.continues) return invalid_argument("--continue begins a chat: expected no prompt", "continue");
  if (args.prompt.empty()) return invalid_argument("the prompt is empty", "prompt");
  RZ_TRY(const auto tools, open_tools(args, true));
  RZ_TRY(Loaded loaded, load(args, tools.get()));
  return answer_once(*loaded.writer, args, loaded.options, tools.get(), loaded.times);
}

Result<int> run_chat(RunArgs& args) {
  const RunWords words = read_run_words(args.words, !args.model.empty());
  if (words.prompt) {
    return invalid_argument("'" + *words.prompt + "' names no model; realizar run \"" + *words.prompt +
                            "\" answers a prompt");
  }
  if (words.model) args.model = *words.model;
  RZ_CHECK_OK(make_ready(args));
  return begin_chat(args);
}

// Options for the content and the display of answers.
void add_answer_flags(Flags flags, RunArgs& args) {
  flags.option(
      "-m,--model", args.model,
      "Model: a name, a file or a folder. Files are .gguf and .safetensors; a folder holds a .gguf file, or is "
      "one of Hugging Face",
      {.takes = kFile});
  Flags rare = flags.advanced();
  flags.flag("--pull", args.pull, "Download a missing model without asking");
  flags.option("--system", args.system, "System message");
  flags.option("-n,--max-tokens", args.max_tokens,
               "Generate at most N tokens (default: until the model ends, or the context)");
  flags.option("--stop", args.stop, "Stop before this text; may be repeated");
  rare.flag("--ignore-eos", args.ignore_eos,
            "Write on where the model ends: until --max-tokens, --stop or the end of the context");
  rare.flag("--hide-reasoning", args.hide_reasoning, "Leave a model's reasoning out of what is shown");
  flags.flag("--json", args.json, "Print one JSON event per line");
  rare.option("--logprobs", args.n_logprobs, "With --json: also report the N likeliest tokens", {.range = {0, 100}});
  flags.flag("--stats", args.stats, "Print the device, times, tokens/s and peak memory on standard error");
  rare.flag("--no-shift,--no-context-shift", args.no_shift,
            "In a chat whose context is full: give an error instead of leaving the oldest turns out");
  flags.flag("--continue", args.continues, "In a chat: continue the last conversation");
  rare.flag("--no-history", args.no_history,
            "In a chat: keep neither what is typed for later chats nor the conversation for --continue");
  args.form.add_to(flags);
  args.reasoning.add_to(flags);
  flags.advanced().flag("--standalone", args.standalone, kStandaloneHelp);
  args.load.add_to(flags, ThreadsOption::kOne, StoreFlags::Network::kYes);
  add_end_flags(flags.group("End token").advanced(), args.load.options.ends);
  args.loading_option = [&args, flags] { return args.load.changing_option(flags); };
  args.sampling.add_to(flags);
  args.tools.add_to(flags.group("Tools"));
  args.trace.add_to(flags);
}

// Problems with the combination of options; empty: none.
std::string complaint(const RunArgs& args) {
  if (args.n_logprobs > 0 && !args.json) return "--logprobs only has an effect with --json";
  const bool has_reasoning = !args.reasoning.options().asks_nothing();
  if (args.raw && has_reasoning) return "a prompt of --raw does not support options of reasoning";
  if (const std::string wrong = args.reasoning.complaint(); !wrong.empty()) return wrong;
  const bool takes_tools = !args.raw && args.prompts.file.empty();
  if (args.tools.mcp.is_given() && !takes_tools)
    return "--mcp and --mcp-config have no effect with --raw and --prompts";
  if (const std::string wrong = args.tools.complaint(); !wrong.empty()) return wrong;
  if (args.tools.mcp.is_given() && args.form.is_given())
    return "--format, --schema and --grammar hold the whole answer, which then calls no tools: expected no --mcp";
  if (const std::string wrong = args.form.complaint(); !wrong.empty()) return wrong;
  const bool has_way_of_prompts = !args.prompts.resume.empty() || args.prompts.order != "input";
  if (has_way_of_prompts && args.prompts.file.empty()) return "--order and --resume only have an effect with --prompts";
  return args.sampling.complaint();
}

}  // namespace

void add_run(CommandLine& line) {
  auto args = std::make_shared<RunArgs>();
  Flags flags = line.command("run", "Generate text: answer a prompt, or chat");
  flags.option(
      "words", args->words,
      "The first word is the model if it has no space: a name, a file or a folder. The others are the prompt. "
      "A prompt without a model, for the bundled one, must be quoted and contain a space, or be given with -p. "
      "Without one, the prompt is read from standard input, or a chat begins on a terminal. If there is a "
      "prompt, text on standard input is appended",
      {.shown_as = "[MODEL] [PROMPT...]", .takes = kFile});
  const Option prompt = flags.option("-p,--prompt", args->prompt, "Prompt; '-': from standard input");
  flags.option("-f,--file", args->prompt_file,
               "Read the prompt from this file. If there is a prompt too, the file is the text that it is about",
               {.takes = kFile});
  flags.option("--prompts", args->prompts.file,
               "File of prompts, one per line; '-': standard input. Several are answered at a time, and each answer "
               "is one line of JSON with the prompt's index. A line may be a JSON object: prompt, system, "
               "max_tokens, temperature, seed",
               {.takes = kFile});
  Flags rare = flags.advanced();
  rare.option("--order", args->prompts.order,
              "With --prompts: print the answers in the order of the prompts, or each as soon as it is finished",
              {.one_of = {"input", "finished"}, .has_default = true});
  rare.option("--resume", args->prompts.resume,
              "With --prompts: go on from the answers that this file has already, which '>> FILE' appends to",
              {.takes = kFile});
  rare.option("--max-seqs", args->max_seqs, "With --prompts: answer N prompts at a time",
              {.range = {1, 256}, .has_default = true});
  rare.flag("--raw", args->raw, "Use the prompt as it is, without the model's chat template");
  add_answer_flags(flags, *args);
  flags.examples({"realizar run \"What is the capital of France?\"", "realizar run qwen3:1.7b \"Why is the sky blue?\"",
                  "realizar run model.gguf --system \"Answer briefly.\" --stats",
                  "cat article.txt | realizar run model.gguf \"Summarize:\""});
  flags.runs(
      [args, prompt] {
        args->has_prompt = prompt.is_given();
        return run(*args);
      },
      [args, prompt] {
        const bool has_both = prompt.is_given() && !args->prompts.file.empty();
        return has_both ? "expected one of --prompt and --prompts" : complaint(*args);
      });
}

void add_chat(CommandLine& line) {
  auto args = std::make_shared<RunArgs>();
  Flags flags = line.command("chat", "Chat with a model on a terminal");
  flags.option("words", args->words, "Model; without one the bundled model answers",
               {.shown_as = "[MODEL]", .takes = kFile});
  add_answer_flags(flags, *args);
  flags.examples({"realizar chat", "realizar chat model.gguf --system \"Answer briefly.\""});
  flags.runs([args] { return run_chat(*args); }, [args] { return complaint(*args); });
}

}  // namespace realizar::cli
