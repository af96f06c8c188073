// Arrays whose items differ, where each is one of finitely many values.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/try.h"
#include "grammar/item_machine.h"
#include "grammar/schema_compiler.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxValues = 500;     // of an item
constexpr size_t kMaxSubsets = 1'100;  // beyond that, items come in the order of their values
constexpr size_t kMaxOrderedStates = 20'000;
constexpr int kMaxFiniteDepth = 20;

// How many different counts of items an array in order has to tell apart.
size_t n_counts_of(size_t n_values, uint64_t min, uint64_t max) {
  return std::max<uint64_t>(max < n_values ? max : min, 1) + 1;
}

size_t index_of(const Json& values, const Json& value) {
  return static_cast<size_t>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

// The values of a schema, each once; nullopt where they may be more, or cannot be told.
Result<std::optional<Json>> SchemaCompiler::finite_values(const Json& full_schema, const std::string& path, int depth) {
  if (full_schema == Json(false)) return std::optional(Json::array());
  if (!full_schema.is_object() || depth > kMaxFiniteDepth) return std::optional<Json>();
  RZ_CHECK_OK(check_size());
  RZ_CHECK_OK(check_keywords(full_schema, path, left_out_));
  const Json schema = assertions_of(full_schema);
  if (schema.size() == 1 && schema.contains("$ref")) {
    RZ_TRY(const Json* target, document_.resolve(schema["$ref"].get<std::string>(), path, left_out_));
    return finite_values(*target, path, depth + 1);
  }
  Json candidates = Json::array();
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (!schema.contains(keyword) || schema.size() > 1) continue;
    for (const Json& option : schema[keyword]) {
      RZ_TRY(const std::optional<Json> own, finite_values(option, path_to(path, keyword), depth + 1));
      if (!own) return std::optional<Json>();
      candidates.insert(candidates.end(), own->begin(), own->end());
    }
    return distinct(candidates);
  }
  if (schema.contains("enum") || schema.contains("const")) {
    candidates = schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
    if (schema.contains("const"))
      std::erase_if(candidates.get_ref<Json::array_t&>(), [&](const Json& value) { return value != schema["const"]; });
  } else if (!add_values_of_types(schema, candidates)) {
    return std::optional<Json>();
  }
  Json values = Json::array();
  for (const Json& value : candidates) {
    RZ_CHECK_OK(check_size());
    const auto allowed = is_allowed(value, schema, path);
    if (!allowed.ok()) return std::optional<Json>();
    if (*allowed) values.push_back(value);
  }
  return distinct(values);
}

// nullopt for too many.
std::optional<Json> SchemaCompiler::distinct(const Json& values) {
  Json out = Json::array();
  for (const Json& value : values) {
    if (out.size() <= kMaxValues && std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  return out.size() <= kMaxValues ? std::optional(out) : std::nullopt;
}

// null, booleans and integers between bounds. False for other types.
bool SchemaCompiler::add_values_of_types(const Json& schema, Json& values) {
  if (!schema.contains("type")) return false;
  for (const Json& type : schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]})) {
    if (type == "null") {
      values.push_back(nullptr);
    } else if (type == "boolean") {
      values.insert(values.end(), {Json(true), Json(false)});
    } else if (type != "integer" || !add_integers(schema, values)) {
      return false;
    }
  }
  return true;
}

bool SchemaCompiler::add_integers(const Json& schema, Json& values) {
  const char* low_name = schema.contains("minimum") ? "minimum" : "exclusiveMinimum";
  const char* high_name = schema.contains("maximum") ? "maximum" : "exclusiveMaximum";
  if (!schema.contains(low_name) || !schema.contains(high_name)) return false;
  constexpr double kLargest = 1e15;  // where doubles are exact
  const auto low = schema[low_name].get<double>(), high = schema[high_name].get<double>();
  if (!(low > -kLargest && high < kLargest && high - low <= static_cast<double>(kMaxValues))) return false;
  for (auto value = static_cast<int64_t>(low) - 1; value <= static_cast<int64_t>(high) + 1; ++value) {
    values.push_back(value);
  }
  return true;
}

Result<ValueExpr> SchemaCompiler::unique_array(const Json& schema, uint64_t min, uint64_t max,
                                               const std::string& path) {
  if (counts_items(schema)) {
    return unsupported(path + ": \"contains\" together with \"uniqueItems\" is not supported",
                       path_to(path, "contains"));
  }
  const Json prefix = schema.value("prefixItems", Json::array());
  std::vector<Json> allowed;  // by position; the last is that of all later items
  for (size_t i = 0; i <= prefix.size(); ++i) {
    const Json item = i < prefix.size() ? prefix[i] : max <= i ? Json(false) : schema.value("items", Json(true));
    RZ_TRY(std::optional<Json> values, finite_values(item, path_to(path, i < prefix.size() ? "prefixItems" : "items")));
    if (!values) {
      return unsupported(path + ": \"uniqueItems\" is supported where every item is one of finitely many values",
                         path_to(path, "uniqueItems"));
    }
    allowed.push_back(*std::move(values));
  }
  Json all = Json::array();
  for (const Json& values : allowed) all.insert(all.end(), values.begin(), values.end());
  const auto universe = distinct(all);
  if (!universe) return unsupported(path + ": \"uniqueItems\" of too many values", path_to(path, "uniqueItems"));
  max = std::min<uint64_t>(max, universe->size());
  if (min > max) return ValueExpr();
  const auto items = subset_items(*universe, allowed, min, max);
  ValueExpr inner;
  if (items) {
    inner = *items;
  } else if (allowed.size() == 1 &&
             (universe->size() + 1) * n_counts_of(universe->size(), min, max) <= kMaxOrderedStates) {
    inner = ordered_items(*universe, min, max);
  } else {
    return unsupported(path + ": \"uniqueItems\" of so many values is not supported", path_to(path, "uniqueItems"));
  }
  if (!inner) return ValueExpr();
  const ExprId body = book_.sequence({literal("["), *inner, book_.shared("ws"), literal("]")});
  return ValueExpr(book_.add("set", body));
}

std::vector<ExprId> SchemaCompiler::literal_values(const Json& values) {
  std::vector<ExprId> exprs;
  for (const Json& value : values) exprs.push_back(literal_value(value));
  return exprs;
}

// Items in any order: a state is the set of those that are written. nullopt where there are too many sets; within it,
// nullopt where no array is long enough.
std::optional<ValueExpr> SchemaCompiler::subset_items(const Json& universe, const std::vector<Json>& allowed,
                                                      uint64_t min, uint64_t max) {
  constexpr size_t kMaxBits = 64;
  if (universe.size() > kMaxBits) return std::nullopt;
  std::vector<uint64_t> allowed_bits;  // by position
  for (const Json& values : allowed) {
    allowed_bits.push_back(0);
    for (const Json& value : values) allowed_bits.back() |= uint64_t{1} << index_of(universe, value);
  }
  // The values that may stand next.
  const auto next_bits = [&](uint64_t set) {
    const auto n = static_cast<size_t>(std::popcount(set));
    return n >= max ? 0 : allowed_bits[std::min(n, allowed_bits.size() - 1)] & ~set;
  };
  std::vector<uint64_t> sets{0};
  std::map<uint64_t, uint32_t> state_of{{0, 0}};
  for (size_t i = 0; i < sets.size(); ++i) {
    for (uint64_t bits = next_bits(sets[i]); bits != 0; bits &= bits - 1) {
      const uint64_t next = sets[i] | (bits & -bits);
      if (state_of.try_emplace(next, static_cast<uint32_t>(sets.size() + 1)).second) sets.push_back(next);
    }
    if (sets.size() > kMaxSubsets) return std::nullopt;
  }
  ItemMachine machine(book_);
  const std::vector<ExprId> items = literal_values(universe);
  std::map<uint64_t, bool> can_end;
  for (size_t i = sets.size(); i-- > 0;) {
    const uint64_t set = sets[i];
    bool& ends = can_end[set];
    ends = static_cast<uint64_t>(std::popcount(set)) >= min;
    if (ends) machine.pass(state_of[set], 1);
    for (uint64_t bits = next_bits(set); bits != 0; bits &= bits - 1) {
      const uint64_t next = set | (bits & -bits);
      if (!can_end[next]) continue;
      ends = true;
      machine.write(state_of[set], state_of[next], items[static_cast<size_t>(std::countr_zero(bits))], set == 0);
    }
  }
  return can_end[0] ? ValueExpr(machine.expr()) : ValueExpr();
}

// Items in the order of their values: a state is the next value and how many items are written, as far as that matters.
ExprId SchemaCompiler::ordered_items(const Json& universe, uint64_t min, uint64_t max) {
  const size_t n = universe.size();
  const size_t n_counts = n_counts_of(n, min, max);
  const auto state_of = [&](size_t value, size_t count) {
    const size_t id = value * n_counts + count;
    return static_cast<uint32_t>(id == 0 ? 0 : id + 1);
  };
  const auto can_end = [&](size_t value, size_t count) { return count + (n - value) >= min; };
  ItemMachine machine(book_);
  const std::vector<ExprId> items = literal_values(universe);
  for (size_t value = 0; value <= n; ++value) {
    for (size_t count = 0; count < n_counts && count <= value; ++count) {
      if (count >= min) machine.pass(state_of(value, count), 1);
      if (value == n) continue;
      if (can_end(value + 1, count)) machine.pass(state_of(value, count), state_of(value + 1, count));
      const size_t more = max < n ? count + 1 : std::min(count + 1, n_counts - 1);
      if (more < n_counts) machine.write(state_of(value, count), state_of(value + 1, more), items[value], count == 0);
    }
  }
  return machine.expr();
}

}  // namespace realizar::grammar
