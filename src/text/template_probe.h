// Renders small conversations to find out how a template treats them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "text/chat_template.h"
#include "text/conversation.h"

namespace realizar::text {

class TemplateProbe {
 public:
  // `chat_template` must outlive this.
  explicit TemplateProbe(const ChatTemplate& chat_template) : template_(chat_template) {}

  static nlohmann::ordered_json variables_of(Conversation conversation, const TemplateTraits& traits,
                                             bool begins_answer) {
    const std::string functions = conversation.tools.empty() ? "" : conversation.tools.dump();
    nlohmann::ordered_json variables = fitted(std::move(conversation), traits);
    variables.update({{"add_generation_prompt", begins_answer},
                      {"bos_token", ""},
                      {"eos_token", ""},
                      {"date_string", "26 Jul 2026"},
                      {"datetime", "Jul 26 2026"},
                      {"functions", functions}});
    return variables;
  }

  // Nullopt if the template refuses. A template that exceeds a limit is not asked again: each answer would take as
  // long.
  std::optional<std::string> rendered(const nlohmann::ordered_json& variables) {
    if (hits_bounds_) return std::nullopt;
    const auto pieces = template_.render(variables, 0);
    hits_bounds_ = !pieces.ok() && pieces.error().code == ErrorCode::kUnsupported;
    if (!pieces.ok()) return std::nullopt;
    std::string text;
    for (const PromptPiece& piece : *pieces) text += piece.text;
    return text;
  }

 private:
  const ChatTemplate& template_;
  bool hits_bounds_ = false;
};

}  // namespace realizar::text
