// Answers several prompts together with the C++ interface: session_cpp MODEL PROMPT...
#include <cstdio>
#include <future>
#include <utility>
#include <vector>

#include "realizar/engine.h"
#include "realizar/session.h"

namespace {

using realizar::LanguageModel, realizar::Request, realizar::Result, realizar::Session, realizar::TextGeneration;

int fail(const realizar::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return 1;
}

int answer_all(LanguageModel& model, int n_prompts, char** prompts) {
  auto session = Session::open(model);
  if (!session.ok()) return fail(session.error());
  std::vector<std::future<Result<TextGeneration>>> answers;
  for (int i = 0; i < n_prompts; ++i) {
    auto prompt = model.chat_prompt({{"user", prompts[i]}});
    if (!prompt.ok()) return fail(prompt.error());
    Request request;
    request.prompt = std::move(*prompt);
    request.sampling.temperature = 0;
    answers.push_back(session->ask(std::move(request)));
  }
  for (auto& answer : answers) {
    const auto result = answer.get();
    if (!result.ok()) return fail(result.error());
    std::printf("%s\n", result->text.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s MODEL PROMPT...\n", argv[0]);
    return 2;
  }
  realizar::LoadOptions options;
  options.batch.max_seqs = 4;
  auto model = LanguageModel::load(argv[1], options);
  return model.ok() ? answer_all(*model, argc - 2, argv + 2) : fail(model.error());
}
