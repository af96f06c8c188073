// Shared by the classes that make rules of a schema, each of its kind of value: the document, the grammar that is
// built, what is left out, and the limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/limits.h"
#include "grammar/rule_book.h"
#include "grammar/schema/document.h"
#include "grammar/schema/left_out.h"

namespace realizar::grammar {

// The documents of one value; nullopt where none satisfies the schema.
using ValueExpr = std::optional<ExprId>;

// How many items, members or characters there may be.
struct Counts {
  uint64_t min = 0, max = kNoMaximum;
};

class SchemaContext {
 public:
  // All must outlive it; rules are added to `book`.
  SchemaContext(const SchemaDocument& document, const Limits& limits, bool is_relaxed, RuleBook& book)
      : document_(document),
        limits_(limits),
        left_out_(is_relaxed),
        deadline_(limits.compile_timeout_ms),
        book_(book),
        n_exprs_before_(book.n_exprs()) {}

  const SchemaDocument& document() const { return document_; }
  const Limits& limits() const { return limits_; }
  LeftOut& left_out() { return left_out_; }
  RuleBook& book() { return book_; }
  // Errors: InvalidArgument where the rules are too many, or take too long.
  Status check_size() const;

  // Schemas in each other, counted while a Nested of each is there.
  class Nested {
   public:
    explicit Nested(SchemaContext& context) : depth_(context.depth_) { ++depth_; }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };
  int depth() const { return depth_; }

  // The document of just this value, and those of several.
  ExprId literal_value(const Json& value);
  std::vector<ExprId> literal_values(const Json& values);
  ExprId with_colon(ExprId key, ExprId value);
  // Alternatives; nullopt for none.
  ValueExpr one_of(const std::vector<ExprId>& options);
  // Adds an alternative, each once.
  void add_option(const ValueExpr& option, std::vector<ExprId>& options) const;

 private:
  const SchemaDocument& document_;
  const Limits& limits_;
  LeftOut left_out_;
  Deadline deadline_;
  RuleBook& book_;
  size_t n_exprs_before_;
  int depth_ = 0;
};

// The name of the rule of the schema at `path`.
inline std::string hint_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace realizar::grammar
