// Objects and arrays.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_merge.h"

namespace realizar::grammar {
namespace {

std::string hint_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_false(const Json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found != schema.end() && *found == Json(false);
}

// Wider: keys of the patterns may stand there, with any values.
Json without_patterns(Json schema) {
  schema.erase("patternProperties");
  schema.erase("additionalProperties");
  return schema;
}

}  // namespace

Result<ValueExpr> SchemaCompiler::object(const Json& full_schema, const std::string& path) {
  Json schema = full_schema;
  if (schema.contains("propertyNames")) {
    auto named = with_allowed_names(schema, path);
    if (!named.ok() && !options_.relaxed) return std::move(named).error();
    if (!named.ok()) schema.erase("propertyNames");
    if (named.ok()) schema = std::move(named).value();
  }
  if (schema.contains("patternProperties")) return map_with_pattern(schema, path);
  const auto required = schema.find("required");
  const bool has_names = (schema.contains("properties") && !schema["properties"].empty()) ||
                         (required != schema.end() && !required->empty());
  if (!has_names) return plain_map(schema, path);

  std::vector<Member> members;
  RZ_TRY(const bool possible, add_members(schema, path, members));
  if (!possible) return ValueExpr();
  std::vector<std::string> names;
  if (schema.contains("properties")) {
    for (const auto& [name, property] : schema["properties"].items()) names.push_back(name);
  }
  if (required != schema.end()) {
    for (const Json& name : *required) names.push_back(name.get<std::string>());
  }
  ValueExpr more;
  if (!is_false(schema, "additionalProperties")) {
    const Json any = true;
    const Json& schema_of_more = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
    RZ_TRY(const ValueExpr expr, value(schema_of_more, path_to(path, "additionalProperties")));
    RZ_TRY(const ValueExpr key, other_key(schema, names, {}, path));
    if (expr && key) more = book_.add("member", with_colon(*key, *expr));
  }
  const auto n_required = static_cast<size_t>(std::ranges::count_if(members, &Member::required));
  RZ_CHECK_OK(refuse_counts_of(schema, path, n_required, more ? kNoMaximum : members.size()));
  return ValueExpr(object_rule(members, more, path));
}

// The named members in the schema's order, then those that are only required. False: a required one is impossible.
Result<bool> SchemaCompiler::add_members(const Json& schema, const std::string& path, std::vector<Member>& members) {
  const Json none = Json::object(), any = true;
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  std::vector<std::string> required;
  if (schema.contains("required")) required = schema["required"].get<std::vector<std::string>>();
  const auto add = [&](const std::string& name, const Json& property, const std::string& own_path) -> Result<bool> {
    const bool is_required = std::ranges::find(required, name) != required.end();
    RZ_TRY(const ValueExpr expr, value(property, own_path));
    if (expr) members.push_back({with_colon(literal(Json(name).dump()), *expr), is_required});
    return expr || !is_required;
  };
  for (const auto& [name, property] : properties.items()) {
    RZ_TRY(const bool possible, add(name, property, path_to(path_to(path, "properties"), name)));
    if (!possible) return false;
  }
  const Json& other = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
  for (size_t i = 0; i < required.size(); ++i) {
    const bool seen = std::find(required.begin(), required.begin() + static_cast<std::ptrdiff_t>(i), required[i]) !=
                      required.begin() + static_cast<std::ptrdiff_t>(i);
    if (seen || properties.contains(required[i])) continue;
    RZ_TRY(const bool possible, add(required[i], other, path_to(path, "additionalProperties")));
    if (!possible) return false;
  }
  return true;
}

// Counts of properties that the grammar would have to keep; those that hold anyway are fine.
Status SchemaCompiler::refuse_counts_of(const Json& schema, const std::string& path, size_t n_required,
                                        size_t n_at_most) {
  if (options_.relaxed) return {};
  if (count_of(schema, "minProperties").value_or(0) > n_required) {
    return unsupported(path + ": \"minProperties\" together with named properties is not supported",
                       path_to(path, "minProperties"));
  }
  if (count_of(schema, "maxProperties").value_or(kNoMaximum) < n_at_most) {
    return unsupported(path + ": \"maxProperties\" together with named properties is not supported",
                       path_to(path, "maxProperties"));
  }
  return {};
}

// `rest-i`: what follows once some member stands before member i. `first-i`: what follows the brace, if no member
// before i was written. Both end with the closing brace, so that the chain of rules is one of rules that end rules.
ExprId SchemaCompiler::object_rule(const std::vector<Member>& members, const ValueExpr& more, const std::string& path) {
  const std::string hint = hint_of(path);
  const ExprId ws = book_.shared("ws"), comma = literal(","), close = literal("}");
  const auto first_required = static_cast<size_t>(std::ranges::find_if(members, &Member::required) - members.begin());
  std::vector<ExprId> rest{close, ws};  // from its end on
  if (more) rest.push_back(book_.repeat(book_.sequence({comma, ws, *more}), 0, kNoMaximum));
  const auto rest_expr = [&] { return book_.sequence(std::vector<ExprId>(rest.rbegin(), rest.rend())); };
  ValueExpr first;
  if (more) first = book_.sequence({ws, *more, rest_expr()});
  for (size_t i = members.size(); i-- > 0;) {
    const auto& [expr, required] = members[i];
    if (i <= first_required) {
      const ExprId rest_rule = book_.add(hint + "-rest", rest_expr());
      const ExprId here = book_.sequence({ws, expr, rest_rule});
      const bool is_last = required || !first;
      first = is_last ? here : book_.choice({here, book_.add(hint + "-first", *first)});
      rest = {rest_rule};
    }
    const ExprId own = book_.sequence({comma, ws, expr});
    rest.push_back(required ? own : book_.optional(own));
  }
  if (first_required == members.size()) {
    const ExprId none = book_.sequence({ws, close});
    first = first ? book_.choice({*first, none}) : none;
  }
  return book_.add(hint, book_.sequence({literal("{"), *first}));
}

// Keys that the schema does not name, each as often as one likes.
Result<ValueExpr> SchemaCompiler::plain_map(const Json& schema, const std::string& path) {
  uint64_t min = count_of(schema, "minProperties").value_or(0);
  const uint64_t max = count_of(schema, "maxProperties").value_or(kNoMaximum);
  if (min > max) return ValueExpr();
  // Two equal keys count once, and a grammar cannot see that they are equal.
  if (options_.relaxed) min = std::min<uint64_t>(min, 1);
  if (min > 1) {
    return unsupported(path + ": \"minProperties\" above 1 is not supported", path_to(path, "minProperties"));
  }
  const bool is_any = !schema.contains("additionalProperties") && !schema.contains("propertyNames");
  if (is_any && min == 0 && max == kNoMaximum) return ValueExpr(book_.shared("object"));
  const Json any = true;
  const Json& more = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
  RZ_TRY(const ValueExpr expr, value(more, path_to(path, "additionalProperties")));
  RZ_TRY(const ValueExpr key, other_key(schema, {}, {}, path));
  const ValueExpr member = expr && key ? with_colon(*key, *expr) : ValueExpr();
  if (!member && min > 0) return ValueExpr();
  return ValueExpr(map_rule(member, min, max, path));
}

Result<ValueExpr> SchemaCompiler::map_with_pattern(const Json& schema, const std::string& path) {
  const Json& patterns = schema["patternProperties"];
  const std::string own_path = path_to(path, "patternProperties");
  const bool alone = !schema.contains("properties") && !schema.contains("required") && patterns.size() == 1 &&
                     count_of(schema, "minProperties").value_or(0) <= 1;
  if (!alone && options_.relaxed) return object(without_patterns(schema), path);
  if (!alone) {
    return unsupported(path + ": \"patternProperties\" is supported with one pattern and no named properties",
                       own_path);
  }
  const auto pattern = patterns.begin();
  const std::string pattern_path = path_to(own_path, pattern.key());
  auto translated = schema.contains("propertyNames") ? other_key(schema, {}, pattern.key(), path)
                                                     : pattern_key(pattern.key(), pattern_path);
  if (!translated.ok() && options_.relaxed) return object(without_patterns(schema), path);
  RZ_TRY(const ValueExpr key, std::move(translated));
  RZ_TRY(const ValueExpr expr, value(pattern.value(), pattern_path));
  const uint64_t min = count_of(schema, "minProperties").value_or(0);
  const uint64_t max = count_of(schema, "maxProperties").value_or(kNoMaximum);
  const ValueExpr member = key && expr ? with_colon(*key, *expr) : ValueExpr();
  if (min > max || (!member && min > 0)) return ValueExpr();
  return ValueExpr(map_rule(member, min, max, path));
}

Result<ValueExpr> SchemaCompiler::pattern_key(const std::string& pattern, const std::string& path) {
  RZ_TRY(const ValueExpr inside, pattern_in_string(book_, pattern, {}, path));
  const ExprId quote = literal("\"");
  return inside ? ValueExpr(book_.add("key", book_.sequence({quote, *inside, quote}))) : ValueExpr();
}

// Without a member the only map is the empty one.
ExprId SchemaCompiler::map_rule(const ValueExpr& member, uint64_t min, uint64_t max, const std::string& path) {
  const ExprId ws = book_.shared("ws"), open = literal("{"), close = literal("}");
  if (!member || max == 0) return book_.add(hint_of(path), book_.sequence({open, ws, close}));
  const ExprId member_rule = book_.add("member", *member);
  std::vector<ExprId> inner{ws, member_rule};
  if (max > 1) {
    const ExprId another = book_.sequence({literal(","), ws, member_rule});
    inner.push_back(book_.repeat(another, 0, max == kNoMaximum ? max : max - 1));
  }
  const ExprId all = book_.sequence(inner);
  return book_.add(hint_of(path), book_.sequence({open, min == 0 ? book_.optional(all) : all, ws, close}));
}

Result<ValueExpr> SchemaCompiler::array(const Json& schema, const std::string& path) {
  const Json none = Json::array(), any = true;
  const Json& prefix = schema.contains("prefixItems") ? schema["prefixItems"] : none;
  const Json& items = schema.contains("items") ? schema["items"] : any;
  const uint64_t min = count_of(schema, "minItems").value_or(0);
  uint64_t max = count_of(schema, "maxItems").value_or(kNoMaximum);
  if (prefix.size() > kMaxPrefixItems && options_.relaxed) return ValueExpr(book_.shared("array"));
  if (prefix.size() > kMaxPrefixItems) {
    return unsupported(fmt::format("{}: more than {} \"prefixItems\"", path, kMaxPrefixItems),
                       path_to(path, "prefixItems"));
  }
  if (schema.contains("uniqueItems") && max > 1 && min <= max) {
    auto unique = unique_array(schema, min, max, path);
    if (unique.ok() || !options_.relaxed) return unique;
  }
  if (prefix.empty() && items == any && min == 0 && max == kNoMaximum) return ValueExpr(book_.shared("array"));
  std::vector<ExprId> firsts;
  for (size_t i = 0; i < prefix.size() && i < max; ++i) {
    RZ_TRY(const ValueExpr expr, value(prefix[i], path_to(path_to(path, "prefixItems"), std::to_string(i))));
    if (!expr) max = i;
    if (expr) firsts.push_back(*expr);
  }
  ValueExpr item;
  if (max > firsts.size()) {
    RZ_TRY(item, value(items, path_to(path, "items")));
  }
  if (!item) max = std::min<uint64_t>(max, firsts.size());
  if (min > max) return ValueExpr();
  return ValueExpr(array_rule(firsts, item, min, max, path));
}

ExprId SchemaCompiler::array_rule(const std::vector<ExprId>& firsts, const ValueExpr& item, uint64_t min, uint64_t max,
                                  const std::string& path) {
  const ExprId ws = book_.shared("ws"), open = literal("["), close = literal("]"), comma = literal(",");
  const uint64_t n_alone = firsts.empty() ? 1 : firsts.size();  // items before those that are repeated
  std::vector<ExprId> rest;
  if (item && firsts.empty()) rest = {ws, *item};
  if (item) {
    const uint64_t more_max = max == kNoMaximum ? max : max - n_alone;
    rest.push_back(book_.repeat(book_.sequence({comma, ws, *item}), min > n_alone ? min - n_alone : 0, more_max));
  }
  // From the last to the first: each optional item holds all that come after it.
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
