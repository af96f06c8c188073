// A schema's text, parsed, with what $ref can point to.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "grammar/limits.h"
#include "grammar/schema/keywords.h"

namespace realizar::grammar {

class SchemaDocument {
 public:
  // Errors: InvalidArgument where the text is not a JSON object or boolean; ResourceExhausted above limits or nested
  // deeper than 128.
  static Result<SchemaDocument> parse(std::string_view text, const Limits& limits);

  const Json& root() const { return *root_; }
  // A reference inside the document: "#", "#/a/b", or the name that a schema in it has ("$id", "$anchor", draft 4's
  // "id") and a pointer from there. Another one is any document where it is left out. Errors: InvalidArgument where
  // nothing, or no schema, is there; Unsupported for others.
  Result<const Json*> resolve(const std::string& ref, const std::string& path, LeftOut& left_out) const;

 private:
  void add_names(const Json& schema);
  Result<const Json*> at_pointer(const Json& from, std::string_view pointer, const std::string& ref,
                                 const std::string& path) const;

  std::unique_ptr<const Json> root_;
  std::unordered_map<std::string, const Json*> named_;  // in root_; an anchor with its "#"
};

}  // namespace realizar::grammar
