#include "grammar/schema/string_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/schema/negation.h"
#include "grammar/schema/string_formats.h"

namespace realizar::grammar {
namespace {

bool is_about_strings(const Json& leaf) {
  if (leaf.contains("pattern")) return true;
  return leaf.contains("enum") && std::ranges::any_of(leaf["enum"], [](const Json& v) { return v.is_string(); });
}

}  // namespace

Result<ValueExpr> StringRules::string(const Json& schema, const std::string& path) {
  const LengthRange wanted = lengths_of(schema);
  if (wanted.min > wanted.max) return ValueExpr();
  auto exact = inside_string(schema, path);
  const bool is_limit = !exact.ok() && exact.error().subject == kLimitSubject;
  if (!exact.ok() && context_.left_out().is_relaxed() && !is_limit) exact = relaxed_inside_string(schema, path);
  RZ_TRY(ValueExpr inside, std::move(exact));
  // Formats are narrower here than in the specification, so an empty language may be due to this.
  if (!inside && context_.left_out().is_relaxed() && schema.contains("format")) {
    RZ_TRY(inside, relaxed_inside_string(schema, path));
  }
  if (!inside) return ValueExpr();
  const ExprId quote = book_.literal("\"");
  const ExprId text = book_.sequence({quote, *inside, quote});
  return ValueExpr(book_.add(hint_of(path), text));
}

Result<ValueExpr> StringRules::inside_string(const Json& schema, const std::string& path) {
  const auto pattern = schema.find("pattern");
  const auto format = schema.find("format");
  const LengthRange wanted = lengths_of(schema);
  if (std::ranges::any_of(excluded(schema), is_about_strings)) return machine_of_strings(schema, path);
  if (pattern != schema.end() && format != schema.end()) return machine_of_strings(schema, path);
  if (pattern != schema.end()) {
    return pattern_in_string(book_, pattern->get<std::string>(), wanted, path_to(path, "pattern"));
  }
  if (format != schema.end()) {
    const StringFormat& known = *find_format(format->get_ref<const std::string&>());
    const bool is_long_enough = known.lengths.min >= wanted.min;
    if (is_long_enough && known.lengths.max <= wanted.max) return ValueExpr(book_.gbnf(known.gbnf));
    for (const auto& part : known.parts) {
      if (is_long_enough && !part.gbnf.empty() && part.length <= wanted.max) return ValueExpr(book_.gbnf(part.gbnf));
    }
    return machine_of_strings(schema, path);
  }
  return ValueExpr(book_.repeat(book_.string_char(), wanted.min, wanted.max));
}

Result<ValueExpr> StringRules::machine_of_strings(const Json& schema, const std::string& path) {
  Terms terms;
  RZ_TRY(const TermId language, languages_.of(terms, schema, path));
  const auto machine = terms.machine_of(language);
  if (!machine) {
    const char* keyword = schema.contains("pattern") ? "pattern" : schema.contains("format") ? "format" : "not";
    return unsupported(
        fmt::format("{}: \"{}\" and what else holds for the string take too large an automaton", path, keyword),
        path_to(path, keyword));
  }
  return machine->states.empty() ? ValueExpr() : ValueExpr(expr_of(book_, *machine, true));
}

Result<ExprId> StringRules::text_without(const Json& schema, const std::string& path, std::string_view mark) {
  Terms terms;
  RZ_TRY(const TermId language, languages_.of(terms, schema, path));
  const TermId with_mark = terms.sequence(terms.everything(), terms.sequence(terms.literal(mark), terms.everything()));
  const auto machine = terms.machine_of(terms.without(language, with_mark));
  if (!machine) return unsupported(path + ": what holds for the string takes too large an automaton", path);
  if (machine->states.empty())
    return unsupported(fmt::format("{}: no string without \"{}\" will do", path, mark), path);
  return expr_of(book_, *machine, false);
}

// If the keywords cannot be combined, keeps the pattern, else the format, with the lengths if possible.
Result<ValueExpr> StringRules::relaxed_inside_string(const Json& schema, const std::string& path) {
  using Keywords = std::vector<const char*>;
  const auto part_of = [&](const Keywords& keywords) {
    Json part = Json::object();
    for (const char* keyword : keywords) {
      if (schema.contains(keyword)) part[keyword] = schema[keyword];
    }
    return part;
  };
  const Json whole = part_of({"pattern", "format", "minLength", "maxLength", "not"});
  for (const Keywords& kept :
       {Keywords{"pattern", "minLength", "maxLength"}, Keywords{"pattern"},
        Keywords{"format", "minLength", "maxLength"}, Keywords{"format"}, Keywords{"minLength", "maxLength"}}) {
    const Json part = part_of(kept);
    if (part == whole || (kept[0] != std::string_view("minLength") && !part.contains(kept[0]))) continue;
    auto alone = inside_string(part, path);
    if (!alone.ok() || !*alone) continue;
    for (const auto& [keyword, value] : whole.items()) {
      if (!part.contains(keyword)) context_.left_out().note(path_to(path, keyword));
    }
    return alone;
  }
  return ValueExpr();
}

}  // namespace realizar::grammar
