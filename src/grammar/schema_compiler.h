// From a schema to rules, value by value. Private to json_schema.cpp and the schema_*.cpp files.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/limits.h"
#include "grammar/number_ranges.h"
#include "grammar/pattern.h"
#include "grammar/regular.h"
#include "grammar/rule_book.h"
#include "grammar/schema_document.h"
#include "grammar/schema_left_out.h"

namespace realizar::grammar {

// The bounds that minimum and its kin set; a schema can have both an inclusive and an exclusive one.
struct Bounds {
  std::optional<Bound> low, high;
};

// The documents of one value; nullopt where none satisfies the schema.
using ValueExpr = std::optional<ExprId>;

class SchemaCompiler {
 public:
  // Adds its rules to `book`; `root` is the one that all documents satisfy.
  SchemaCompiler(const SchemaDocument& document, const Limits& limits, const SchemaOptions& options, RuleBook& book,
                 RuleId root)
      : document_(document),
        limits_(limits),
        left_out_(options.relaxed),
        deadline_(limits.compile_timeout_ms),
        book_(book),
        n_exprs_before_(book.n_exprs()),
        root_(root),
        root_ref_(options.root),
        rule_of_ref_{{options.root, root}},
        open_refs_{{root, options.root}} {}

  Status run();
  // The strings that the root allows and that do not hold `mark`, unescaped.
  Result<ExprId> text_without(std::string_view mark);
  // The places in the schema of the rules to which others may refer.
  std::unordered_map<std::string, std::string> place_of_rule();
  // The places of the keywords that a relaxed grammar does not hold.
  const std::vector<std::string>& left_out() const { return left_out_.places(); }

 private:
  // `path` is the schema's place in the document, and names its rules.
  Result<ValueExpr> value(const Json& schema, const std::string& path);
  Result<ValueExpr> object_value(const Json& schema, const std::string& path);
  Result<ValueExpr> flattened(const Json& schema, const std::string& path);
  Result<ValueExpr> merged_value(const Json& merged, const std::string& path);
  Result<ValueExpr> alternatives(const Json& schema, const char* keyword, const std::string& path);
  Result<ValueExpr> listed_values(const Json& schema, const std::string& path);
  Result<ValueExpr> typed_value(const Json& schema, const std::string& path);
  Result<ValueExpr> value_of_type(const std::string& type, const Json& schema, const std::string& path);
  Result<ValueExpr> reference(const std::string& ref, const std::string& path);
  ExprId literal_value(const Json& value);
  ValueExpr word(const std::string& type, const Json& schema);
  Status check_size() const;

  // schema_one_of.cpp
  Result<Json> with_references(const Json& schema, const std::string& path, size_t& n_parts_left, int depth);
  Result<std::vector<Json>> kept_apart(const Json& base, const Json& alternatives, const std::string& path);

  // schema_values.cpp
  Result<bool> is_allowed(const Json& value, const Json& schema, const std::string& path);
  Result<bool> is_document(const Json& value, const Json& schema, const std::string& path);
  Result<bool> is_allowed_by(const std::string& keyword, const Json& value, const Json& schema,
                             const std::string& path);
  Result<bool> is_allowed_array(const std::string& keyword, const Json& value, const Json& schema,
                                const std::string& path);
  Result<bool> is_allowed_object(const std::string& keyword, const Json& value, const Json& schema,
                                 const std::string& path);
  Result<bool> keeps_to_patterns(const std::string& key, const Json& member, const Json& patterns,
                                 const std::string& path);
  Result<bool> is_named(const std::string& key, const Json& schema, const std::string& path);
  Result<bool> is_allowed_by_schemas(const std::string& keyword, const Json& value, const Json& schema,
                                     const std::string& path);
  Result<bool> has_format(const std::string& text, const Json& format, const std::string& path);
  Result<bool> is_allowed_string(const std::string& text, const Json& schema, const std::string& path);

  // schema_numbers.cpp
  Result<ValueExpr> number(const Json& schema, bool is_integer, const std::string& path);
  Result<ValueExpr> number_range_of(const Bounds& bounds, bool is_integer, const std::string& path);
  Result<ValueExpr> machine_of_numbers(const Json& schema, const Bounds& bounds, bool is_integer,
                                       const std::string& path);
  Result<bool> is_multiple(const Json& value, const Json& divisor, const std::string& path);

  // schema_strings.cpp
  Result<ValueExpr> string(const Json& schema, const std::string& path);
  // The text between the quotes.
  Result<ValueExpr> inside_string(const Json& schema, const std::string& path);
  Result<ValueExpr> relaxed_inside_string(const Json& schema, const std::string& path);
  Result<ValueExpr> machine_of_strings(const Json& schema, const std::string& path);
  // The strings that a schema allows; `negated`: those that are wanted are the others.
  Result<TermId> string_language(Terms& terms, const Json& schema, const std::string& path, bool negated = false,
                                 int depth = 0);
  Status add_combined_languages(Terms& terms, const Json& schema, const std::string& path, bool negated, int depth,
                                std::vector<TermId>& parts);

  struct Counts {
    uint64_t min = 0, max = kNoMaximum;
  };

  // schema_objects.cpp
  struct Member {
    ExprId expr = kNoExpr;
    bool required = false;
  };
  Result<ValueExpr> object(const Json& schema, const std::string& path);
  Result<bool> add_members(const Json& schema, const std::string& path, std::vector<Member>& members);
  Result<ValueExpr> other_members(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  ExprId object_rule(const std::vector<Member>& members, const ValueExpr& more, const std::string& path);
  ExprId map_rule(const ValueExpr& member, const Counts& counts, const std::string& path);
  ExprId some_members(ExprId member, uint64_t max);
  Result<ValueExpr> counted_object(const std::vector<Member>& members, const ValueExpr& more, const Counts& counts,
                                   const std::string& path);

  // schema_patterns.cpp
  Result<Json> with_named_patterns(const Json& schema, const std::string& path);
  Result<ValueExpr> members_by_pattern(const Json& schema, const std::vector<std::string>& names,
                                       const std::string& path);
  static Json without_patterns(Json schema);

  // schema_arrays.cpp
  Result<ValueExpr> array(const Json& schema, const std::string& path);
  ExprId array_rule(const std::vector<ExprId>& firsts, const ValueExpr& item, uint64_t min, uint64_t max,
                    const std::string& path);

  // schema_contains.cpp
  struct ItemKinds {
    ValueExpr counted, other;
  };
  static bool counts_items(const Json& schema);
  Result<ItemKinds> item_kinds(const Json& schema, size_t place, const std::string& path);
  Result<ValueExpr> array_that_contains(const Json& schema, const Counts& counts, const std::string& path);

  // schema_keys.cpp
  Result<ExprId> key_apart_from(const std::vector<std::string>& names);
  Result<ValueExpr> other_key(const Json& schema, const std::vector<std::string>& names, const std::string& path);
  Result<TermId> other_keys(Terms& terms, const Json& schema, const std::vector<std::string>& names,
                            const std::string& path);
  ValueExpr key_of(const TextMachine& machine);
  static Error keys_too_large(const std::string& path, const char* keyword);
  Result<Json> with_allowed_names(const Json& schema, const std::string& path);

  // schema_sets.cpp
  Result<std::optional<Json>> finite_values(const Json& schema, const std::string& path, int depth = 0);
  static std::optional<Json> distinct(const Json& values);
  static bool add_values_of_types(const Json& schema, Json& values);
  static bool add_integers(const Json& schema, Json& values);
  Result<ValueExpr> unique_array(const Json& schema, uint64_t min, uint64_t max, const std::string& path);
  std::vector<ExprId> literal_values(const Json& values);
  std::optional<ValueExpr> subset_items(const Json& universe, const std::vector<Json>& allowed, uint64_t min,
                                        uint64_t max);
  ExprId ordered_items(const Json& universe, uint64_t min, uint64_t max);

  ValueExpr one_of(const std::vector<ExprId>& options);
  void add_option(const ValueExpr& option, std::vector<ExprId>& options) const;
  static std::string hint_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  ExprId with_colon(ExprId key, ExprId value);
  ExprId literal(std::string_view text) { return book_.literal(text); }

  const SchemaDocument& document_;
  const Limits& limits_;
  LeftOut left_out_;
  Deadline deadline_;
  RuleBook& book_;
  size_t n_exprs_before_;
  RuleId root_;
  std::string root_ref_;
  bool has_impossible_ = false;  // some rule holds a choice of nothing
  int depth_ = 0;
  size_t n_merged_ = 0;
  struct Reference {
    RuleId rule;
    std::string ref;
  };
  std::unordered_map<std::string, RuleId> rule_of_ref_;
  std::deque<Reference> open_refs_;
  struct Merged {
    std::optional<RuleId> rule;  // nullopt: no document satisfies it
    bool is_used = false;        // in itself
  };
  std::map<std::string, Merged> merged_;  // by the merged schema's text
};

}  // namespace realizar::grammar
