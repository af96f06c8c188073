// Chat templates as clients of Ollama's API send them: Go's text/template (https://pkg.go.dev/text/template) over
// Ollama's variables (https://docs.ollama.com/modelfile#template), or Jinja.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "realizar/result.h"
#include "text/chat_template.h"

namespace realizar::text {

// Jinja with the same output as the Go template. Supported: text, comments, trim marks; if, with, range (of lists, maps
// and numbers), else, else if, end, break, continue; fields; declaration and assignment of variables; pipes; and, or,
// not, eq, ne, lt, le, gt, ge, len, index, slice, print, println, printf (%s %v %d %t %q), and Ollama's json,
// currentDate, yesterdayDate and toTypeScriptType. A template for a single turn (.System, .Prompt, .Response) is
// repeated for each turn, and ends where the answer begins. Errors: InvalidArgument, subject "template", naming the
// unsupported part.
Result<std::string> jinja_of_go_template(std::string_view source);

// Source with "{%" is Jinja.
bool is_jinja(std::string_view source);

// Accepts both kinds. Errors: as above; those of Jinja, subject "template".
Result<std::shared_ptr<const ChatTemplate>> compile_ollama_template(std::string_view source);

}  // namespace realizar::text
