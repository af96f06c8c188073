#include "grammar/schema/contains_rules.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "grammar/schema/item_machine.h"
#include "grammar/schema/merge.h"
#include "grammar/schema/value_rules.h"

namespace realizar::grammar {
namespace {

constexpr uint64_t kMaxStates = 20'000;

// An automaton over the numbers of items so far and of matching ones, both up to where more make no difference.
class CountingMachine {
 public:
  CountingMachine(RuleBook& book, uint64_t n_items, uint64_t n_counted, bool is_endless)
      : machine_(book), n_items_(n_items), n_counted_(n_counted), is_endless_(is_endless) {
    live_.assign((n_items + 1) * (n_counted + 1), false);
  }

  // An item after `item_idx` others, and whether it is counted.
  struct Step {
    ValueExpr item;
    uint64_t count = 0;
  };

  // States are added from last to first.
  void add(uint64_t item_idx, uint64_t count, bool can_end, const std::vector<Step>& steps) {
    const uint64_t next = is_endless_ ? std::min(item_idx + 1, n_items_) : item_idx + 1;
    const auto leads_on = [&](const Step& step) {
      return step.item && next <= n_items_ && step.count <= n_counted_ && live_[index(next, step.count)];
    };
    live_[index(item_idx, count)] = can_end || std::ranges::any_of(steps, leads_on);
    if (can_end) machine_.pass(state(item_idx, count), 1);
    for (const Step& step : steps) {
      if (leads_on(step)) machine_.write(state(item_idx, count), state(next, step.count), *step.item, item_idx == 0);
    }
  }

  // nullopt if no array has enough matching items.
  ValueExpr expr() { return live_[0] ? ValueExpr(machine_.expr()) : ValueExpr(); }

 private:
  size_t index(uint64_t item_idx, uint64_t count) const { return item_idx * (n_counted_ + 1) + count; }
  uint32_t state(uint64_t item_idx, uint64_t count) const {
    const size_t id = index(item_idx, count);
    return static_cast<uint32_t>(id == 0 ? 0 : id + 1);
  }

  ItemMachine machine_;
  uint64_t n_items_, n_counted_;
  bool is_endless_;
  std::vector<bool> live_;
};

}  // namespace

bool counts_items(const Json& schema) {
  return schema.contains("contains") && (count_of(schema, "minContains") != 0 || schema.contains("maxContains"));
}

// The items at one index: those that "contains" counts, and any; without the first if there may be too many.
Result<ContainsRules::ItemKinds> ContainsRules::item_kinds(const Json& schema, size_t item_idx,
                                                           const std::string& path) {
  const Json prefix = schema.value("prefixItems", Json::array());
  const Json item = item_idx < prefix.size() ? prefix[item_idx] : schema.value("items", Json(true));
  const Json& counted = schema["contains"];
  const std::string own_path = path_to(path, "contains");
  ItemKinds kinds;
  RZ_TRY(kinds.counted, values_.value(both_of(item, counted), own_path));
  RZ_TRY(kinds.other,
         values_.value(schema.contains("maxContains") ? both_of(item, {{"not", counted}}) : item, own_path));
  for (ValueExpr* kind : {&kinds.counted, &kinds.other}) {
    if (*kind) *kind = book_.add("item", **kind);
  }
  return kinds;
}

Result<ValueExpr> ContainsRules::array(const Json& schema, const Counts& counts, const std::string& path) {
  const Counts wanted{count_of(schema, "minContains").value_or(1),
                      count_of(schema, "maxContains").value_or(kNoMaximum)};
  if (wanted.min > wanted.max || wanted.min > counts.max) return ValueExpr();
  const bool is_endless = counts.max == kNoMaximum;
  const uint64_t n_prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
  const uint64_t n_items = is_endless ? std::max<uint64_t>({counts.min, n_prefix, 1}) : counts.max;
  const uint64_t n_counted = wanted.max == kNoMaximum ? wanted.min : wanted.max;
  if (n_items > kMaxStates || n_counted > kMaxStates || (n_items + 1) * (n_counted + 1) > kMaxStates) {
    return unsupported(path + ": \"contains\" in an array of so many items is not supported",
                       path_to(path, "contains"));
  }
  std::vector<ItemKinds> kinds;  // by index; the last is for all later ones
  for (size_t i = 0; i <= n_prefix; ++i) {
    RZ_TRY(kinds.emplace_back(), item_kinds(schema, i, path));
  }
  CountingMachine machine(book_, n_items, n_counted, is_endless);
  for (uint64_t item_idx = n_items + 1; item_idx-- > 0;) {
    const ItemKinds& own = kinds[std::min<uint64_t>(item_idx, n_prefix)];
    for (uint64_t count = n_counted + 1; count-- > 0;) {
      const uint64_t after = wanted.max == kNoMaximum ? std::min(count + 1, n_counted) : count + 1;
      machine.add(item_idx, count, item_idx >= counts.min && count >= wanted.min,
                  {{own.counted, after}, {own.other, count}});
    }
  }
  const ValueExpr items = machine.expr();
  if (!items) return ValueExpr();
  return ValueExpr(
      book_.add(hint_of(path), book_.sequence({book_.literal("["), *items, book_.shared("ws"), book_.literal("]")})));
}

}  // namespace realizar::grammar
