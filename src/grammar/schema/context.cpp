#include "grammar/schema/context.h"

#include <algorithm>
#include <utility>

namespace realizar::grammar {
namespace {

constexpr size_t kMaxExprs = 1'000'000;

}  // namespace

Status SchemaContext::check_size() const {
  if (book_.n_exprs() - n_exprs_before_ > kMaxExprs) return limit_exceeded("the schema makes too large a grammar");
  return deadline_.check();
}

ExprId SchemaContext::literal_value(const Json& value) {
  if (!value.is_structured()) return book_.literal(value.dump());
  const bool is_object = value.is_object();
  const ExprId ws = book_.shared("ws");
  std::vector<ExprId> parts{book_.literal(is_object ? "{" : "["), ws};
  bool is_first = true;
  for (const auto& [name, item] : value.items()) {
    if (!std::exchange(is_first, false)) parts.insert(parts.end(), {book_.literal(","), ws});
    const ExprId own = literal_value(item);
    parts.push_back(is_object ? with_colon(book_.literal(Json(name).dump()), own) : own);
  }
  if (!value.empty()) parts.push_back(ws);
  parts.push_back(book_.literal(is_object ? "}" : "]"));
  return book_.sequence(parts);
}

std::vector<ExprId> SchemaContext::literal_values(const Json& values) {
  std::vector<ExprId> exprs;
  for (const Json& value : values) exprs.push_back(literal_value(value));
  return exprs;
}

ExprId SchemaContext::with_colon(ExprId key, ExprId value) {
  return book_.sequence({key, book_.literal(":"), book_.optional(book_.literal(" ")), value});
}

ValueExpr SchemaContext::one_of(const std::vector<ExprId>& options) {
  return options.empty() ? ValueExpr() : book_.choice(options);
}

void SchemaContext::add_option(const ValueExpr& option, std::vector<ExprId>& options) const {
  const auto is_it = [&](ExprId other) { return book_.is_same(*option, other); };
  if (option && std::ranges::none_of(options, is_it)) options.push_back(*option);
}

}  // namespace realizar::grammar
