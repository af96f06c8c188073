#include "grammar/schema/array_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "grammar/schema/value_rules.h"

namespace realizar::grammar {

Result<ValueExpr> ArrayRules::array(const Json& schema, const std::string& path) {
  const Json none = Json::array(), any = true;
  const Json& prefix = schema.contains("prefixItems") ? schema["prefixItems"] : none;
  const Json& items = schema.contains("items") ? schema["items"] : any;
  const Counts counts{count_of(schema, "minItems").value_or(0), count_of(schema, "maxItems").value_or(kNoMaximum)};
  if (counts.min > counts.max) return ValueExpr();
  if (prefix.size() > kMaxPrefixItems) {
    RZ_CHECK_OK(context_.left_out().take(unsupported(
        fmt::format("{}: more than {} \"prefixItems\"", path, kMaxPrefixItems), path_to(path, "prefixItems"))));
    return ValueExpr(book_.shared("array"));
  }
  if (schema.contains("uniqueItems") && counts.max > 1) {
    auto unique = unique_items_.array(schema, counts.min, counts.max, path);
    if (unique.ok()) return unique;
    RZ_CHECK_OK(context_.left_out().take(unique.error()));
  }
  if (counts_items(schema)) {
    auto counted = contains_.array(schema, counts, path);
    if (counted.ok()) return counted;
    RZ_CHECK_OK(context_.left_out().take(counted.error()));
  }
  if (prefix.empty() && items == any && counts.min == 0 && counts.max == kNoMaximum) {
    return ValueExpr(book_.shared("array"));
  }
  uint64_t max = counts.max;
  std::vector<ExprId> firsts;
  for (size_t i = 0; i < prefix.size() && i < max; ++i) {
    RZ_TRY(const ValueExpr expr, values_.value(prefix[i], path_to(path_to(path, "prefixItems"), std::to_string(i))));
    if (!expr) max = i;
    if (expr) firsts.push_back(*expr);
  }
  ValueExpr item;
  if (max > firsts.size()) {
    RZ_TRY(item, values_.value(items, path_to(path, "items")));
  }
  if (!item) max = std::min<uint64_t>(max, firsts.size());
  if (counts.min > max) return ValueExpr();
  return ValueExpr(array_rule(firsts, item, counts.min, max, path));
}

ExprId ArrayRules::array_rule(const std::vector<ExprId>& firsts, const ValueExpr& item, uint64_t min, uint64_t max,
                              const std::string& path) {
  const ExprId ws = book_.shared("ws"), open = book_.literal("["), close = book_.literal("]"),
               comma = book_.literal(",");
  const uint64_t n_alone = firsts.empty() ? 1 : firsts.size();  // items before the repeated ones
  std::vector<ExprId> rest;
  if (item && firsts.empty()) rest = {ws, *item};
  if (item) {
    const uint64_t more_max = max == kNoMaximum ? max : max - n_alone;
    rest.push_back(book_.repeat(book_.sequence({comma, ws, *item}), min > n_alone ? min - n_alone : 0, more_max));
  }
  // From last to first: each optional item contains all later ones.
  for (size_t i = firsts.size(); i-- > 0;) {
    std::vector<ExprId> own{ws, firsts[i]};
    if (i > 0) own.insert(own.begin(), comma);
    own.insert(own.end(), rest.begin(), rest.end());
    rest = i > 0 && i >= min ? std::vector{book_.optional(book_.sequence(own))} : own;
  }
  if (rest.empty()) return book_.add(hint_of(path), book_.sequence({open, ws, close}));
  const ExprId inner = book_.sequence(rest);
  return book_.add(hint_of(path), book_.sequence({open, min == 0 ? book_.optional(inner) : inner, ws, close}));
}

}  // namespace realizar::grammar
