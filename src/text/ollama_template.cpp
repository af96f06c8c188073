#include "text/ollama_template.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/try.h"
#include "text/go_expression.h"
#include "text/go_template.h"

namespace realizar::text {
namespace {

constexpr size_t kMaxTemplateBytes = 256u << 10;

constexpr std::string_view kNewTurn =
    "{% set turn.system = '' %}{% set turn.prompt = '' %}{% set turn.response = '' %}";

}  // namespace

Result<std::string> jinja_of_go_template(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    return wrong_template(fmt::format("expected at most {} bytes, actual {}", kMaxTemplateBytes, source.size()));
  }
  RZ_TRY(const auto nodes, parse_go_template(source));
  const std::string begin = std::string(kGoMacros) + "{% set turn = namespace(system='', prompt='', response='') %}";
  if (names_field(nodes, ".Messages")) {
    RZ_TRY(const std::string body, jinja_of_go_nodes(nodes, false));
    return begin +
           "{% for m in messages if m.role == 'system' %}{% set turn.system = turn.system ~ ('\\n\\n' if turn.system) "
           "~ "
           "m.content %}{% endfor %}" +
           body;
  }
  RZ_TRY(const std::string turn, jinja_of_go_nodes(nodes, false));
  RZ_TRY(const std::string last, jinja_of_go_nodes(nodes, true));
  const std::string done =
      turn + (names_field(nodes, ".Response") ? "" : "{{ turn.response }}") + std::string(kNewTurn);
  return begin + "{% for m in messages %}{% if m.role == 'system' %}{% if turn.prompt or turn.response %}" + done +
         "{% endif %}{% set turn.system = m.content %}{% elif m.role == 'user' %}{% if turn.response %}" + done +
         "{% endif %}{% set turn.prompt = m.content %}{% elif m.role == 'assistant' %}{% set turn.response = m.content "
         "%}{% endif %}{% endfor %}{% if turn.response %}" +
         done + "{% endif %}" + last;
}

bool is_jinja(std::string_view source) {
  return source.find("{%") != std::string_view::npos;
}

Result<std::shared_ptr<const ChatTemplate>> compile_ollama_template(std::string_view source) {
  std::string jinja(source);
  if (!is_jinja(source)) {
    RZ_TRY(jinja, jinja_of_go_template(source));
  }
  auto compiled = ChatTemplate::parse(jinja);
  if (!compiled.ok()) return wrong_template(compiled.error().message);
  return std::make_shared<const ChatTemplate>(std::move(*compiled));
}

}  // namespace realizar::text
