// A finite automaton whose moves write the items of an array, or the members of an object, with commas in between.
// State 0: none is written yet; state 1: the end.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "grammar/rule_book.h"

namespace realizar::grammar {

class ItemMachine {
 public:
  explicit ItemMachine(RuleBook& book) : book_(book), ws_(book.shared("ws")), nothing_(book.literal("")) {}

  void write(uint32_t from, uint32_t to, ExprId item, bool is_first) {
    const auto [found, is_new] = (is_first ? firsts_ : others_).try_emplace(item, kNoExpr);
    if (is_new)
      found->second = is_first ? book_.sequence({ws_, item}) : book_.sequence({book_.literal(","), ws_, item});
    add(from, to, found->second);
  }
  void pass(uint32_t from, uint32_t to) { add(from, to, nothing_); }
  ExprId expr() { return book_.machine(moves_, children_); }

 private:
  void add(uint32_t from, uint32_t to, ExprId child) {
    moves_.push_back({from, to});
    children_.push_back(child);
  }

  RuleBook& book_;
  ExprId ws_, nothing_;
  std::unordered_map<ExprId, ExprId> firsts_, others_;  // by item
  std::vector<Move> moves_;
  std::vector<ExprId> children_;
};

}  // namespace realizar::grammar
