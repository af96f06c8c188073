// A parsed schema with the targets of $ref.
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
  // Errors: InvalidArgument if the text is not a JSON object or boolean; ResourceExhausted if it exceeds the limits or
  // nests deeper than 128.
  static Result<SchemaDocument> parse(std::string_view text, const Limits& limits);

  const Json& root() const { return *root_; }
  // Resolves a reference inside the document: "#", "#/a/b", or the name of a schema in it ("$id", "$anchor", draft 4's
  // "id") and a pointer from there. If other references are left out, they match any document. Errors: InvalidArgument
  // if the target does not exist or is not a schema; Unsupported for other references.
  Result<const Json*> resolve(const std::string& ref, const std::string& path, LeftOut& left_out) const;

 private:
  void add_names(const Json& schema);
  Result<const Json*> at_pointer(const Json& from, std::string_view pointer, const std::string& ref,
                                 const std::string& path) const;

  std::unique_ptr<const Json> root_;
  std::unordered_map<std::string, const Json*> named_;  // in root_; anchors include their "#"
};

}  // namespace realizar::grammar
