// Expressions of Go's text/template, over Ollama's variables, as expressions of Jinja.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::text {

// InvalidArgument, subject "template".
Error wrong_template(const std::string& what);

// A string of Jinja.
std::string in_quotes(std::string_view text);

bool is_go_space(char c);
std::string_view go_trimmed(std::string_view text);
// Takes the name that the text begins with, which may be "".
std::string_view take_go_name(std::string_view& text);

// The variables at a place of a template. A variable that is declared hides others of its name until its block ends:
// each has a place of its own in Jinja's namespace `go`.
class GoScope {
 public:
  // Blocks are closed in the order of their nesting.
  void open();
  void close();
  // Gives its place.
  std::string declare(std::string_view name);
  // Errors: it is not declared.
  Result<std::string> find(std::string_view name) const;

  std::string dot;  // Jinja's name of what '.' is; "": the root

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> places_;  // the last one counts
  std::vector<std::vector<std::string>> declared_{{}};                   // in each open block
  size_t n_variables_ = 0;
};

// One pipeline. Errors name what is not taken. What it gives may use the macros of kGoMacros.
Result<std::string> jinja_of_go_expression(std::string_view source, const GoScope& scope);

// To stand before all that uses them: the namespace `go`; go_print and go_sprint, which write values as Go does;
// go_json, whose members keep the client's order; and go_typescript, the type of a tool's parameter.
extern const std::string_view kGoMacros;

}  // namespace realizar::text
