// The model that writes the answers of `run` and of the chat: in this process, or in a running server.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/generation.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/service.h"
#include "realizar/engine.h"

namespace realizar::cli {

// The input of a writer: a conversation, or a text without the chat template.
struct Prompt {
  nlohmann::ordered_json variables;  // for the chat template; null: `text` is used
  std::string text;
  std::vector<TokenId> tokens;  // if the model is in this process
  size_t n_tokens = 0;
};

// One answer at a time. Errors of the functions: as LanguageModel's; Internal if a server has ended.
class Writer : public Interruptible {
 public:
  virtual const ModelInfo& info() const = 0;
  // The model's recommendation, overridden by the flags.
  virtual Result<SamplingParams> sampling(const SamplingFlags& flags) = 0;
  virtual const std::vector<std::string>& default_stop() const = 0;
  // Whether the model supports these.
  virtual Status check_reasoning(const ReasoningOptions& reasoning) = 0;
  // Errors: Unsupported if there are tools, and the model's chat template does not pass them on.
  virtual Status check_knows_tools(const nlohmann::ordered_json& tools) = 0;

  virtual Result<Prompt> chat_prompt(nlohmann::ordered_json variables, const ReasoningOptions& reasoning) = 0;
  virtual Result<Prompt> raw_prompt(const std::string& text) = 0;
  virtual Result<TextGeneration> write(const Prompt& prompt, const AnswerOptions& options,
                                       const TextCallback& on_text) = 0;

  // The model in this process; null: it runs in a server.
  virtual LanguageModel* local() { return nullptr; }
};

// Takes a loaded model.
std::unique_ptr<Writer> local_writer(LanguageModel model);

// A Writer whose model runs in a server. `given`: a file or folder, or a name. The server loads the model if necessary.
// Errors: ResourceExhausted if the server has no memory for it; NotFound; those of loading.
Result<std::unique_ptr<Writer>> service_writer(std::unique_ptr<Service> service, const std::string& given);

}  // namespace realizar::cli
