// Rules of referenced schemas, and the queue of those that are not compiled yet.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "grammar/rule_book.h"

namespace realizar::grammar {

class SchemaReferences {
 public:
  struct Open {
    RuleId rule;
    std::string ref;
  };

  // `root` is the rule of the schema at `ref`, which is queued.
  SchemaReferences(RuleBook& book, const std::string& ref, RuleId root)
      : book_(book), rule_of_ref_{{ref, root}}, open_{{root, ref}} {}

  // The rule of the schema at `ref`, which is queued if it is new.
  RuleId rule_of(const std::string& ref);
  // The first in the queue; nullopt: all are compiled.
  std::optional<Open> take_open();
  // Paths in the schema of rules that others may reference.
  std::unordered_map<std::string, std::string> path_of_rule() const;

 private:
  RuleBook& book_;
  std::unordered_map<std::string, RuleId> rule_of_ref_;
  std::deque<Open> open_;
};

}  // namespace realizar::grammar
