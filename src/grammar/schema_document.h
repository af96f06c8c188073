// A schema's text, parsed, with what $ref can point to.
#pragma once

#include <string>
#include <string_view>

#include "grammar/limits.h"
#include "grammar/schema_keywords.h"

namespace realizar::grammar {

class SchemaDocument {
 public:
  // Errors: InvalidArgument where the text is not a JSON object or boolean; ResourceExhausted above limits or nested
  // deeper than 128.
  static Result<SchemaDocument> parse(std::string_view text, const Limits& limits);

  const Json& root() const { return root_; }
  // A reference inside the document, "#" or "#/a/b". Another one is any document where `relaxed`. Errors:
  // InvalidArgument where nothing, or no schema, is there; Unsupported for others.
  Result<const Json*> resolve(const std::string& ref, const std::string& path, bool relaxed) const;

 private:
  Json root_;
};

}  // namespace realizar::grammar
