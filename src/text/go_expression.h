// Translates expressions of Go's text/template, over Ollama's variables, to Jinja expressions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::text {

// InvalidArgument, subject "template".
Error wrong_template(const std::string& what);

// A Jinja string.
std::string in_quotes(std::string_view text);

bool is_go_space(char c);
std::string_view go_trimmed(std::string_view text);
// Removes and returns the name at the beginning of the text, which may be "".
std::string_view take_go_name(std::string_view& text);

// The variables in scope. A declared variable hides others with its name until its block ends: each gets its own name
// in Jinja's namespace `go`.
class GoScope {
 public:
  // Blocks are closed in reverse order.
  void open();
  void close();
  // Returns its name in the namespace.
  std::string declare(std::string_view name);
  // Errors: not declared.
  Result<std::string> find(std::string_view name) const;

  std::string dot;  // Jinja's name for '.'; "": the root

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> places_;  // the last one is visible
  std::vector<std::vector<std::string>> declared_{{}};                   // in each open block
  size_t n_variables_ = 0;
};

// Translates one pipeline. Errors name the unsupported part. The result may use the macros of kGoMacros.
Result<std::string> jinja_of_go_expression(std::string_view source, const GoScope& scope);

// Inserted before all uses: the namespace `go`; go_print and go_sprint, which format values like Go; go_json, whose
// members keep the client's order; and go_typescript, the type of a tool's parameter.
extern const std::string_view kGoMacros;

}  // namespace realizar::text
