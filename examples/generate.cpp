// Answers one prompt with the C++ interface: generate_cpp MODEL PROMPT
#include <cstdio>
#include <utility>

#include "realizar/engine.h"

namespace {

realizar::Status answer(const char* path, const char* prompt) {
  auto model = realizar::LanguageModel::load(path);
  if (!model.ok()) return model.error();
  auto tokens = model->chat_prompt({{"user", prompt}});
  if (!tokens.ok()) return tokens.error();
  realizar::Request request;
  request.prompt = std::move(*tokens);
  request.sampling.temperature = 0;
  const auto result = model->generate_text(request, {}, [](const realizar::TextEvent& event) {
    return std::fwrite(event.text.data(), 1, event.text.size(), stdout) == event.text.size();
  });
  if (!result.ok()) return result.error();
  std::printf("\n(%zu tokens)\n", result->tokens.size());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL PROMPT\n", argv[0]);
    return 2;
  }
  const auto status = answer(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
