#include "grammar/schema/references.h"

#include <utility>

#include "grammar/schema/context.h"

namespace realizar::grammar {

RuleId SchemaReferences::rule_of(const std::string& ref) {
  const auto [found, is_new] = rule_of_ref_.try_emplace(ref, 0);
  if (is_new) {
    found->second = book_.reserve(hint_of(ref));
    open_.push_back({found->second, ref});
  }
  return found->second;
}

std::optional<SchemaReferences::Open> SchemaReferences::take_open() {
  if (open_.empty()) return std::nullopt;
  Open first = std::move(open_.front());
  open_.pop_front();
  return first;
}

std::unordered_map<std::string, std::string> SchemaReferences::path_of_rule() const {
  std::unordered_map<std::string, std::string> paths;
  for (const auto& [ref, rule] : rule_of_ref_) paths.emplace(book_.rule(rule).name, ref);
  return paths;
}

}  // namespace realizar::grammar
