// A chat template (Jinja, as Hugging Face's apply_chat_template sets it up): messages in, prompt out.
// Immutable after parse(); any thread may render. Rendering is bounded in steps, depth and output bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "realizar/result.h"
#include "text/output/output_format.h"
#include "text/template_traits.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar::text {

class ChatTemplate {
 public:
  // Errors: FormatError with line and column.
  static Result<ChatTemplate> parse(std::string_view source);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `variables` is an object: messages, tools, add_generation_prompt, bos_token, eos_token and any further variable.
  // `now_unix_s`: the clock for strftime_now (in UTC; the local time of the process is not used). Every string inside
  // `variables["messages"]`, `["tools"]` and `["documents"]` is input: pieces made from it carry is_input, through
  // filters, slices, concatenation and macros. Adjacent pieces of the same kind are joined. Errors: InvalidArgument if
  // the template itself refuses (raise_exception; its message is the message) or the conversation does not fit it;
  // Unsupported if a limit is exceeded.
  Result<std::vector<PromptPiece>> render(const nlohmann::ordered_json& variables, int64_t now_unix_s) const;

  // The template's traits, determined on the first call by rendering some fifty small conversations, which takes
  // milliseconds.
  const TemplateTraits& traits() const;
  // How the model marks calls and thoughts, determined like traits().
  const OutputFormat& output_format() const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace realizar::text
