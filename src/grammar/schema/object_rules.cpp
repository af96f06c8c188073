#include "grammar/schema/object_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "grammar/schema/item_machine.h"
#include "grammar/schema/value_rules.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxCountedStates = 20'000;

const Json kAny = true;

bool is_false(const Json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found != schema.end() && *found == Json(false);
}

std::vector<std::string> names_of(const Json& schema) {
  std::vector<std::string> names;
  if (schema.contains("properties")) {
    for (const auto& [name, property] : schema["properties"].items()) names.push_back(name);
  }
  if (schema.contains("required")) {
    for (const Json& name : schema["required"]) names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

Result<ValueExpr> ObjectRules::object(const Json& full_schema, const std::string& path) {
  RZ_TRY(Json schema, patterns_.with_named(full_schema, path));
  if (schema.contains("propertyNames")) {
    auto named = keys_.with_allowed_names(schema, path);
    if (!named.ok()) {
      RZ_CHECK_OK(context_.left_out().take(named.error()));
      schema.erase("propertyNames");
    } else {
      schema = std::move(named).value();
    }
  }
  Counts counts{count_of(schema, "minProperties").value_or(0), count_of(schema, "maxProperties").value_or(kNoMaximum)};
  if (counts.min > counts.max) return ValueExpr();
  const std::vector<std::string> names = names_of(schema);
  const bool is_any = names.empty() && !schema.contains("additionalProperties") && !schema.contains("propertyNames") &&
                      !schema.contains("patternProperties");
  if (is_any && counts.min == 0 && counts.max == kNoMaximum) return ValueExpr(book_.shared("object"));
  std::vector<Member> members;
  RZ_TRY(const bool possible, add_members(schema, path, members));
  if (!possible) return ValueExpr();
  RZ_TRY(const ValueExpr more, other_members(schema, names, path));
  const auto n_required = static_cast<size_t>(std::ranges::count_if(members, &Member::required));
  // Equal keys count once, and a grammar cannot detect them, so only one of the other keys counts.
  const size_t n_sure = members.size() + (more ? 1 : 0);
  if (counts.min > n_sure && !more) return ValueExpr();
  if (counts.min > n_sure) {
    RZ_CHECK_OK(context_.left_out().take(
        unsupported(fmt::format("{}: \"minProperties\" above {} is not supported with these properties", path, n_sure),
                    path_to(path, "minProperties"))));
    counts.min = n_sure;
  }
  if (members.empty()) return ValueExpr(map_rule(more, counts, path));
  const bool holds_anyway = counts.min <= n_required && (counts.max == kNoMaximum || (!more && counts.max >= n_sure));
  if (holds_anyway) return ValueExpr(object_rule(members, more, path));
  return counted_object(members, more, counts, path);
}

// Adds the named members in the schema's order, then the only required ones. False if a required one is impossible.
Result<bool> ObjectRules::add_members(const Json& schema, const std::string& path, std::vector<Member>& members) {
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  std::vector<std::string> required;
  if (schema.contains("required")) required = schema["required"].get<std::vector<std::string>>();
  const auto add = [&](const std::string& name, const Json& property, const std::string& own_path) -> Result<bool> {
    const bool is_required = std::ranges::find(required, name) != required.end();
    RZ_TRY(const ValueExpr expr, values_.value(property, own_path));
    if (expr) members.push_back({context_.with_colon(book_.literal(Json(name).dump()), *expr), is_required});
    return expr || !is_required;
  };
  for (const auto& [name, property] : properties.items()) {
    RZ_TRY(const bool possible, add(name, property, path_to(path_to(path, "properties"), name)));
    if (!possible) return false;
  }
  const Json& other = schema.contains("additionalProperties") ? schema["additionalProperties"] : kAny;
  for (size_t i = 0; i < required.size(); ++i) {
    const bool seen = std::find(required.begin(), required.begin() + static_cast<std::ptrdiff_t>(i), required[i]) !=
                      required.begin() + static_cast<std::ptrdiff_t>(i);
    if (seen || properties.contains(required[i])) continue;
    RZ_TRY(const bool possible, add(required[i], other, path_to(path, "additionalProperties")));
    if (!possible) return false;
  }
  return true;
}

// A member that the schema does not name; nullopt if there is none.
Result<ValueExpr> ObjectRules::other_members(const Json& schema, const std::vector<std::string>& names,
                                             const std::string& path) {
  if (schema.contains("patternProperties")) {
    auto members = patterns_.members(schema, names, path);
    if (members.ok() || members.error().code != ErrorCode::kUnsupported) return members;
    RZ_CHECK_OK(context_.left_out().take(members.error()));
    return other_members(PatternPropertyRules::without_patterns(schema), names, path);
  }
  if (is_false(schema, "additionalProperties")) return ValueExpr();
  const Json& of_more = schema.contains("additionalProperties") ? schema["additionalProperties"] : kAny;
  RZ_TRY(const ValueExpr expr, values_.value(of_more, path_to(path, "additionalProperties")));
  if (!expr) return ValueExpr();
  RZ_TRY(const ValueExpr key, keys_.other_key(schema, names, path));
  return key ? ValueExpr(book_.add("member", context_.with_colon(*key, *expr))) : ValueExpr();
}

// `rest-i`: the text after some member before member i. `first-i`: the text after the brace, if no member before i was
// written. Both end with the closing brace, so that the chain consists of rules that end rules.
ExprId ObjectRules::object_rule(const std::vector<Member>& members, const ValueExpr& more, const std::string& path) {
  const std::string hint = hint_of(path);
  const ExprId ws = book_.shared("ws"), comma = book_.literal(","), close = book_.literal("}");
  const auto first_required = static_cast<size_t>(std::ranges::find_if(members, &Member::required) - members.begin());
  std::vector<ExprId> rest{close, ws};  // in reverse order
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
  return book_.add(hint, book_.sequence({book_.literal("{"), *first}));
}

// Without a member only the empty map is possible.
ExprId ObjectRules::map_rule(const ValueExpr& member, const Counts& counts, const std::string& path) {
  const ExprId ws = book_.shared("ws"), open = book_.literal("{"), close = book_.literal("}");
  if (!member || counts.max == 0) return book_.add(hint_of(path), book_.sequence({open, ws, close}));
  const ExprId all = book_.sequence({ws, some_members(*member, counts.max)});
  return book_.add(hint_of(path), book_.sequence({open, counts.min == 0 ? book_.optional(all) : all, ws, close}));
}

// One to `max` members.
ExprId ObjectRules::some_members(ExprId member, uint64_t max) {
  if (max == 1) return member;
  const ExprId another = book_.sequence({book_.literal(","), book_.shared("ws"), member});
  return book_.sequence({member, book_.repeat(another, 0, max == kNoMaximum ? max : max - 1)});
}

// A state is the next named member and the number written so far, up to where it matters; see ItemMachine.
Result<ValueExpr> ObjectRules::counted_object(const std::vector<Member>& members, const ValueExpr& more,
                                              const Counts& counts, const std::string& path) {
  const size_t n = members.size();
  const size_t most = std::min<uint64_t>(counts.max == kNoMaximum ? counts.min : counts.max, n);
  if ((n + 1) * (most + 1) > kMaxCountedStates) {
    const char* keyword = counts.min > 0 ? "minProperties" : "maxProperties";
    RZ_CHECK_OK(context_.left_out().take(unsupported(
        fmt::format("{}: \"{}\" of so many properties is not supported", path, keyword), path_to(path, keyword))));
    return ValueExpr(object_rule(members, more, path));
  }
  const auto state_of = [&](size_t member, size_t count) {
    const size_t id = member * (most + 1) + count;
    return static_cast<uint32_t>(id == 0 ? 0 : id + 1);
  };
  const auto count_after = [&](size_t count) {
    return counts.max == kNoMaximum ? std::min(count + 1, most) : count + 1;
  };
  ItemMachine machine(book_);
  std::vector<bool> live((n + 1) * (most + 1), false);
  for (size_t count = 0; count <= most; ++count) {
    if (count >= counts.min) machine.pass(state_of(n, count), 1);
    const uint64_t left = counts.max == kNoMaximum ? kNoMaximum : counts.max - count;
    const bool can_add = more && left > 0 && count + 1 >= counts.min;
    if (can_add) machine.write(state_of(n, count), 1, some_members(*more, left), count == 0);
    live[n * (most + 1) + count] = count >= counts.min || can_add;
  }
  for (size_t i = n; i-- > 0;) {
    const ExprId member = book_.add("member", members[i].expr);
    for (size_t count = 0; count <= std::min(most, i); ++count) {
      const size_t next = count_after(count);
      const bool can_write = next <= most && live[(i + 1) * (most + 1) + next];
      const bool can_pass = !members[i].required && live[(i + 1) * (most + 1) + count];
      if (can_write) machine.write(state_of(i, count), state_of(i + 1, next), member, count == 0);
      if (can_pass) machine.pass(state_of(i, count), state_of(i + 1, count));
      live[i * (most + 1) + count] = can_write || can_pass;
    }
  }
  if (!live[0]) return ValueExpr();
  const ExprId body = book_.sequence({book_.literal("{"), machine.expr(), book_.shared("ws"), book_.literal("}")});
  return ValueExpr(book_.add(hint_of(path), body));
}

}  // namespace realizar::grammar
