// Chat templates as clients of Ollama's API send them: Go's text/template (https://pkg.go.dev/text/template) over
// Ollama's variables (https://docs.ollama.com/modelfile#template), or Jinja.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "realizar/result.h"
#include "text/chat_template.h"

namespace realizar::text {

// Jinja that prints what the Go template prints. Taken are: text, comments, trim marks; if, else if, else, range, end;
// fields and variables; eq, ne, lt, le, gt, ge, and, or, not, len, index, slice, json and pipes. A template of one turn
// (.System, .Prompt, .Response) is repeated for each, and ends where the answer begins. Errors: InvalidArgument,
// subject "template", naming what is not taken.
Result<std::string> jinja_of_go_template(std::string_view source);

// A source with "{%" is Jinja.
bool is_jinja(std::string_view source);

// Of either kind. Errors: the same; those of Jinja, subject "template".
Result<std::shared_ptr<const ChatTemplate>> compile_ollama_template(std::string_view source);

}  // namespace realizar::text
