// Strings and numbers.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/schema_compiler.h"
#include "grammar/string_formats.h"

namespace realizar::grammar {
namespace {

// A digit of a bound is up to three expressions, which nest.
constexpr size_t kMaxRangeDepth = 450;

// The tighter of two bounds; the exclusive one of equals.
void tighten(std::optional<Bound>& bound, const Bound& other, int direction) {
  const int order = bound ? direction * compare(other.value, bound->value) : 1;
  if (order > 0 || (order == 0 && other.exclusive)) bound = other;
}

Result<Bounds> bounds_of(const Json& schema, const std::string& path) {
  Bounds bounds;
  for (const char* name : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
    const auto found = schema.find(name);
    if (found == schema.end()) continue;
    const auto value = decimal_of(found->dump());
    if (!value) return unsupported(fmt::format("{}: \"{}\" has too many digits", path, name), path_to(path, name));
    const std::string_view keyword = name;
    const bool is_low = keyword.ends_with("inimum");
    tighten(is_low ? bounds.low : bounds.high, {*value, keyword.starts_with("exclusive")}, is_low ? 1 : -1);
  }
  return bounds;
}

}  // namespace

Result<ValueExpr> SchemaCompiler::number(const Json& schema, bool is_integer, const std::string& path) {
  const auto multiple = schema.find("multipleOf");
  if (!options_.relaxed && multiple != schema.end() && (!is_integer || *multiple != Json(1))) {
    return unsupported(path + ": keyword \"multipleOf\" is not supported (except 1, for integers)",
                       path_to(path, "multipleOf"));
  }
  auto exact = bounds_of(schema, path);
  if (!exact.ok() && !options_.relaxed) return std::move(exact).error();
  const Bounds bounds = exact.ok() ? *exact : Bounds();
  if (!bounds.low && !bounds.high) return ValueExpr(book_.shared(is_integer ? "integer" : "number"));
  const auto body =
      is_integer ? integer_range(book_, bounds.low, bounds.high) : number_range(book_, bounds.low, bounds.high);
  if (!body) return ValueExpr();
  if (book_.depth_of(*body) > kMaxRangeDepth) {
    if (options_.relaxed) return ValueExpr(book_.shared(is_integer ? "integer" : "number"));
    return unsupported(path + ": \"minimum\" and \"maximum\" have too many digits", path);
  }
  return ValueExpr(book_.add(is_integer ? "integer" : "number", *body));
}

Result<ValueExpr> SchemaCompiler::string(const Json& schema, const std::string& path) {
  const LengthRange wanted{count_of(schema, "minLength").value_or(0),
                           count_of(schema, "maxLength").value_or(kNoMaximum)};
  if (wanted.min > wanted.max) return ValueExpr();
  auto exact = inside_string(schema, wanted, path);
  if (!exact.ok() && options_.relaxed) exact = relaxed_inside_string(schema, wanted, path);
  RZ_TRY(const std::optional<ExprId> inside, std::move(exact));
  if (!inside) return ValueExpr(book_.shared("string"));
  const ExprId quote = literal("\"");
  return ValueExpr(book_.add(path.substr(path.rfind('/') + 1), book_.sequence({quote, *inside, quote})));
}

Result<std::optional<ExprId>> SchemaCompiler::inside_string(const Json& schema, const LengthRange& wanted,
                                                            const std::string& path) {
  const auto pattern = schema.find("pattern");
  const auto format = schema.find("format");
  if (pattern != schema.end() && format != schema.end()) {
    return unsupported(path + ": \"pattern\" together with \"format\" is not supported", path_to(path, "pattern"));
  }
  if (pattern != schema.end()) {
    RZ_TRY(const ExprId inside,
           pattern_in_string(book_, pattern->get<std::string>(), wanted, path_to(path, "pattern")));
    return std::optional(inside);
  }
  if (format != schema.end()) {
    const StringFormat& known = *find_format(format->get_ref<const std::string&>());
    if (known.lengths.min < wanted.min || known.lengths.max > wanted.max) {
      return unsupported(fmt::format("{}: \"format\" \"{}\" with these lengths is not supported", path, known.name),
                         path_to(path, "format"));
    }
    return std::optional(book_.gbnf(known.gbnf));
  }
  if (wanted.min == 0 && wanted.max == kNoMaximum) return std::optional<ExprId>();
  return std::optional(book_.repeat(book_.string_char(), wanted.min, wanted.max));
}

// Where keywords cannot be held together, the pattern is kept alone, else the format alone, else the lengths.
Result<std::optional<ExprId>> SchemaCompiler::relaxed_inside_string(const Json& schema, const LengthRange& wanted,
                                                                    const std::string& path) {
  for (const char* keyword : {"pattern", "format"}) {
    if (!schema.contains(keyword)) continue;
    auto alone = inside_string({{keyword, schema[keyword]}}, {}, path);
    if (alone.ok()) return alone;
  }
  return inside_string(Json::object(), wanted, path);
}

}  // namespace realizar::grammar
