// From a schema to GBNF, value by value. Private to json_schema.cpp and the schema_*.cpp files.
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
#include "grammar/rule_book.h"
#include "grammar/schema_document.h"

namespace realizar::grammar {

// GBNF of one value, an atom; nullopt where no document satisfies the schema.
using ValueText = std::optional<std::string>;

class SchemaCompiler {
 public:
  // Adds its rules to `book`; `root` is the name of the one that all documents satisfy.
  SchemaCompiler(const SchemaDocument& document, const Limits& limits, const SchemaOptions& options, RuleBook& book,
                 const std::string& root)
      : document_(document),
        limits_(limits),
        options_(options),
        deadline_(limits.compile_timeout_ms),
        book_(book),
        n_bytes_before_(book.text().size()),
        rule_of_ref_{{options.root, root}},
        open_refs_{{root, options.root}} {}

  Status run();
  // The places in the schema of the rules to which others may refer.
  std::unordered_map<std::string, std::string> place_of_rule() const;

 private:
  // `path` is the schema's place in the document, and names its rules.
  Result<ValueText> value(const Json& schema, const std::string& path);
  Result<ValueText> object_value(const Json& schema, const std::string& path);
  Result<ValueText> flattened(const Json& schema, const std::string& path);
  Result<ValueText> merged_value(const Json& merged, const std::string& path);
  Result<ValueText> alternatives(const Json& schema, const char* keyword, const std::string& path);
  Result<ValueText> listed_values(const Json& schema, const std::string& path);
  Result<ValueText> typed_value(const Json& schema, const std::string& path);
  Result<ValueText> value_of_type(const std::string& type, const Json& schema, const std::string& path);
  Result<std::string> reference(const std::string& ref, const std::string& path);
  Result<bool> is_allowed(const Json& value, const Json& schema, const std::string& path) const;
  std::string literal_value(const Json& value);
  Status check_size() const;

  // schema_scalars.cpp
  Result<ValueText> number(const Json& schema, bool is_integer, const std::string& path);
  Result<ValueText> string(const Json& schema, const std::string& path);
  Result<std::string> inside_string(const Json& schema, const LengthRange& wanted, const std::string& path);
  Result<std::string> relaxed_inside_string(const Json& schema, const LengthRange& wanted, const std::string& path);

  // schema_containers.cpp
  struct Member {
    std::string text;
    bool required = false;
  };
  Result<ValueText> object(const Json& schema, const std::string& path);
  Result<ValueText> map_with_pattern(const Json& schema, const std::string& path);
  Result<ValueText> plain_map(const Json& schema, const std::string& path);
  Result<ValueText> array(const Json& schema, const std::string& path);
  Result<bool> add_members(const Json& schema, const std::string& path, std::vector<Member>& members);
  std::string object_rule(const std::vector<Member>& members, const ValueText& more, const std::string& path);
  std::string map_rule(const std::string& member, uint64_t min, uint64_t max, const std::string& path);
  std::string key_apart_from(const std::vector<std::string>& names, const std::string& path);
  Status refuse_counts_of(const Json& schema, const std::string& path, size_t n_required, size_t n_at_most);

  static std::string with_colon(const std::string& key, const std::string& value) {
    return key + " \":\" \" \"? " + value;
  }

  const SchemaDocument& document_;
  const Limits& limits_;
  const SchemaOptions& options_;
  Deadline deadline_;
  RuleBook& book_;
  size_t n_bytes_before_;
  int depth_ = 0;
  size_t n_merged_ = 0;
  struct Reference {
    std::string rule, ref;
  };
  std::unordered_map<std::string, std::string> rule_of_ref_;
  std::deque<Reference> open_refs_;
  struct Merged {
    std::string rule;
    bool is_used = false;  // in itself
  };
  std::map<std::string, Merged> merged_;  // by the merged schema's text
};

// The bounds that minimum and its kin set; a schema can have both an inclusive and an exclusive one.
struct Bounds {
  std::optional<Bound> low, high;
};

}  // namespace realizar::grammar
