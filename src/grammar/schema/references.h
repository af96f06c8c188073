// The rules of schemas to which others refer, and those of them that are not compiled yet.
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

  // `root` is the rule of the schema at `ref`, and open.
  SchemaReferences(RuleBook& book, const std::string& ref, RuleId root)
      : book_(book), rule_of_ref_{{ref, root}}, open_{{root, ref}} {}

  // The rule of the schema at `ref`, which is open if it is new.
  RuleId rule_of(const std::string& ref);
  // The one that was opened first; nullopt: all are compiled.
  std::optional<Open> take_open();
  // The places in the schema of the rules to which others may refer.
  std::unordered_map<std::string, std::string> place_of_rule() const;

 private:
  RuleBook& book_;
  std::unordered_map<std::string, RuleId> rule_of_ref_;
  std::deque<Open> open_;
};

}  // namespace realizar::grammar
