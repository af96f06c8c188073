// State shared by the classes that create a schema's rules, one per kind of value: the document, the grammar being
// built, omitted keywords, and limits.
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

// The documents of one value; nullopt if none satisfies the schema.
using ValueExpr = std::optional<ExprId>;

// Range for the number of items, members or characters.
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
  // Errors: InvalidArgument if there are too many rules, or they take too long.
  Status check_size() const;

  // Nesting depth of schemas, counted by living Nested objects.
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

  // The document of exactly this value, and those of several.
  ExprId literal_value(const Json& value);
  std::vector<ExprId> literal_values(const Json& values);
  ExprId with_colon(ExprId key, ExprId value);
  // Alternatives; nullopt for none.
  ValueExpr one_of(const std::vector<ExprId>& options);
  // Adds an alternative unless it is already present.
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

// The name for rules of the schema at `path`.
inline std::string hint_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace realizar::grammar
