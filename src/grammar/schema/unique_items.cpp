#include "grammar/schema/unique_items.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/try.h"
#include "grammar/schema/contains_rules.h"
#include "grammar/schema/item_machine.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxSubsets = 1'100;  // beyond that, items are in the order of their values
constexpr size_t kMaxOrderedStates = 20'000;

// Number of item counts that an ordered array must distinguish.
size_t n_counts_of(size_t n_values, uint64_t min, uint64_t max) {
  return std::max<uint64_t>(max < n_values ? max : min, 1) + 1;
}

size_t index_of(const Json& values, const Json& value) {
  return static_cast<size_t>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

Result<ValueExpr> UniqueItems::array(const Json& schema, uint64_t min, uint64_t max, const std::string& path) {
  if (counts_items(schema)) {
    return unsupported(path + ": \"contains\" together with \"uniqueItems\" is not supported",
                       path_to(path, "contains"));
  }
  const Json prefix = schema.value("prefixItems", Json::array());
  std::vector<Json> allowed;  // by index; the last is for all later items
  for (size_t i = 0; i <= prefix.size(); ++i) {
    const Json item = i < prefix.size() ? prefix[i] : max <= i ? Json(false) : schema.value("items", Json(true));
    RZ_TRY(std::optional<Json> values,
           finite_values_.of(item, path_to(path, i < prefix.size() ? "prefixItems" : "items")));
    if (!values) {
      return unsupported(path + ": \"uniqueItems\" is supported where every item is one of finitely many values",
                         path_to(path, "uniqueItems"));
    }
    allowed.push_back(*std::move(values));
  }
  Json all = Json::array();
  for (const Json& values : allowed) all.insert(all.end(), values.begin(), values.end());
  const auto universe = FiniteValues::distinct(all);
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
  const ExprId body = book_.sequence({book_.literal("["), *inner, book_.shared("ws"), book_.literal("]")});
  return ValueExpr(book_.add("set", body));
}

// Items in any order: a state is the set of written items. nullopt: too many sets, or inside, no array is long enough.
std::optional<ValueExpr> UniqueItems::subset_items(const Json& universe, const std::vector<Json>& allowed, uint64_t min,
                                                   uint64_t max) {
  constexpr size_t kMaxBits = 64;
  if (universe.size() > kMaxBits) return std::nullopt;
  std::vector<uint64_t> allowed_bits;  // by index
  for (const Json& values : allowed) {
    allowed_bits.push_back(0);
    for (const Json& value : values) allowed_bits.back() |= uint64_t{1} << index_of(universe, value);
  }
  // The values allowed next.
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
  const std::vector<ExprId> items = context_.literal_values(universe);
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

// Items in the order of their values: a state is the next value and the number of written items, if it matters.
ExprId UniqueItems::ordered_items(const Json& universe, uint64_t min, uint64_t max) {
  const size_t n = universe.size();
  const size_t n_counts = n_counts_of(n, min, max);
  const auto state_of = [&](size_t value, size_t count) {
    const size_t id = value * n_counts + count;
    return static_cast<uint32_t>(id == 0 ? 0 : id + 1);
  };
  const auto can_end = [&](size_t value, size_t count) { return count + (n - value) >= min; };
  ItemMachine machine(book_);
  const std::vector<ExprId> items = context_.literal_values(universe);
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
