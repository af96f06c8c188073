// Checks values listed by "enum" and "const" against the keywords next to them.
#pragma once

#include <string>

#include "grammar/schema/context.h"
#include "grammar/schema/string_language.h"

namespace realizar::grammar {

class ValueChecker {
 public:
  ValueChecker(SchemaContext& context, StringLanguage& languages) : context_(context), languages_(languages) {}

  // Whether a listed value satisfies the other keywords of its schema. Undecidable keywords are left out, if allowed.
  Result<bool> is_allowed(const Json& value, const Json& schema, const std::string& path);

 private:
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

  SchemaContext& context_;
  StringLanguage& languages_;
};

}  // namespace realizar::grammar
