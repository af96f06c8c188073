#include "cli/generation.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/writer.h"

namespace realizar::cli {
namespace {

constexpr const char* kAnsweringModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";

// A writer that gets a Ctrl-C before the event with a given index.
class InterruptedWriter final : public Writer {
 public:
  InterruptedWriter(Writer& inner, int idx) : inner_(inner), n_left_(idx) {}
  const ModelInfo& info() const override { return inner_.info(); }
  Result<SamplingParams> sampling(const SamplingFlags& flags) override { return inner_.sampling(flags); }
  const std::vector<std::string>& default_stop() const override { return inner_.default_stop(); }
  Status check_reasoning(const ReasoningOptions& reasoning) override { return inner_.check_reasoning(reasoning); }
  Status check_knows_tools(const nlohmann::ordered_json& tools) override { return inner_.check_knows_tools(tools); }
  Result<Prompt> chat_prompt(nlohmann::ordered_json variables, const ReasoningOptions& reasoning) override {
    return inner_.chat_prompt(std::move(variables), reasoning);
  }
  Result<Prompt> raw_prompt(const std::string& text) override { return inner_.raw_prompt(text); }
  Result<TextGeneration> write(const Prompt& prompt, const AnswerOptions& options,
                               const TextCallback& on_text) override {
    return inner_.write(prompt, options, [&](const TextEvent& event) {
      if (n_left_-- == 0) std::raise(SIGINT);
      return on_text(event);
    });
  }
  void cancel() noexcept override { inner_.cancel(); }

 private:
  Writer& inner_;
  int n_left_;
};

// The text that `work` writes to standard output.
template <class Work>
std::string written_by(Work work) {
  std::FILE* file = std::tmpfile();
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(file), STDOUT_FILENO);
  work();
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::string text(static_cast<size_t>(::lseek(::fileno(file), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(::fileno(file), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  std::fclose(file);
  return text;
}

TEST(StreamAnswer, WritesNothingMoreAfterCtrlC) {
  LoadOptions load;
  load.cpu.n_threads = 1;
  load.draft.guesses = false;  // one token per step
  auto model = LanguageModel::load(kAnsweringModel, load);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto writer = local_writer(std::move(*model));
  const nlohmann::ordered_json question{{"role", "user"}, {"content", "What is the capital of France?"}};
  const auto prompt = writer->chat_prompt({{"messages", nlohmann::ordered_json::array({question})}}, {});
  ASSERT_TRUE(prompt.ok());
  AnswerOptions options;
  options.sampling.temperature = 0;

  std::vector<std::string> pieces;
  const auto whole = writer->write(*prompt, options, [&](const TextEvent& event) {
    pieces.emplace_back(event.text);
    return true;
  });
  ASSERT_TRUE(whole.ok());
  ASSERT_GT(pieces.size(), 4u);

  std::string expected;
  for (int n_shown = 0; n_shown < 3; ++n_shown) {
    InterruptedWriter interrupted(*writer, n_shown);
    const std::string written = written_by([&] {
      const auto answer = stream_answer(interrupted, *prompt, options);
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      EXPECT_TRUE(answer->interrupted);
    });
    EXPECT_EQ(written, expected + "\n");
    expected += pieces[static_cast<size_t>(n_shown)];
  }
}

}  // namespace
}  // namespace realizar::cli
