#include "grammar/schema/one_of.h"

#include <algorithm>
#include <set>

#include "base/try.h"
#include "grammar/schema/contradictions.h"
#include "grammar/schema/merge.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxAlternatives = 40, kMaxWays = 8, kMaxResolvedParts = 500;
constexpr int kMaxResolvedDepth = 5;

// Whether `is_it` holds for any part of the schema, among those that must hold together.
template <class IsIt>
bool any_part(const Json& schema, const IsIt& is_it) {
  if (!schema.is_object()) return false;
  if (is_it(schema)) return true;
  const auto parts = schema.find("allOf");
  return parts != schema.end() && std::ranges::any_of(*parts, [&](const Json& part) { return any_part(part, is_it); });
}

bool is_empty(const Json& schema) {
  return schema == Json(true) || schema == Json::object();
}

bool has_type(const Json& schema) {
  return any_part(schema, [](const Json& part) { return part.contains("type"); });
}

std::set<std::string> required_names(const Json& schema) {
  std::set<std::string> names;
  any_part(schema, [&](const Json& part) {
    for (const Json& name : part.value("required", Json::array())) names.insert(name.get<std::string>());
    return false;
  });
  return names;
}

// Whether some part forbids the name.
bool forbids(const Json& schema, const std::string& name) {
  return any_part(schema, [&](const Json& part) {
    const Json& properties = part.contains("properties") ? part["properties"] : Json::object();
    if (properties.contains(name)) return properties[name] == Json(false);
    return part.value("additionalProperties", Json(true)) == Json(false) && !part.contains("patternProperties");
  });
}

// The schema of the property in some part; null if there is none.
Json property_of(const Json& schema, const std::string& name) {
  Json found;
  any_part(schema, [&](const Json& part) {
    const auto properties = part.find("properties");
    const bool has_it = properties != part.end() && properties->contains(name);
    if (has_it) found = (*properties)[name];
    return has_it;
  });
  return found;
}

// Whether a document of `own` satisfies `other` once it has these names, judging by direct keywords only.
bool differs_in_names(const Json& own, const Json& other, const std::vector<std::string>& names) {
  return !any_part(other, [&](const Json& part) {
    return std::ranges::any_of(part.items(), [&](const auto& member) {
      constexpr std::string_view kKnown[] = {"type", "required", "properties", "allOf", "$ref"};
      if (std::ranges::find(kKnown, member.key()) == std::end(kKnown)) return true;
      if (member.key() != "properties") return false;
      return std::ranges::any_of(member.value().items(), [&](const auto& property) {
        const Json known = property_of(own, property.key());
        const bool is_new = known.is_null() && std::ranges::find(names, property.key()) != names.end();
        return !is_new && known != property.value() && !is_empty(property.value());
      });
    });
  });
}

// Whether negations of the schema are supported.
bool is_about_scalars(const Json& schema) {
  constexpr std::string_view kKnown[] = {
      "type",      "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
      "maxLength", "enum",    "const"};
  const auto is_scalar = [](const Json& value) { return !value.is_structured(); };
  if (schema.is_boolean()) return true;
  return std::ranges::all_of(schema.items(), [&](const auto& member) {
    if (std::ranges::find(kKnown, member.key()) == std::end(kKnown)) return false;
    return is_scalar(member.value()) || std::ranges::all_of(member.value(), is_scalar);
  });
}

Json without_name(const std::string& name) {
  return {{"properties", {{name, false}}}};
}

// The ways to lack one of the names; only the first if there are too many in total.
Json without_one_of(const std::vector<std::string>& names, size_t& n_ways) {
  n_ways *= names.size();
  if (names.size() == 1 || n_ways > kMaxWays) return without_name(names[0]);
  Json ways = Json::array();
  for (const std::string& name : names) ways.push_back(without_name(name));
  return {{"anyOf", ways}};
}

// The schema with the targets of its references as parts of allOf; parts beyond the limits are left out.
Result<Json> with_references(SchemaContext& context, const Json& schema, const std::string& path, size_t& n_parts_left,
                             int depth) {
  if (depth > kMaxResolvedDepth || n_parts_left == 0) return Json(true);
  if (!schema.is_object()) return schema;
  --n_parts_left;
  RZ_CHECK_OK(context.check_size());
  RZ_CHECK_OK(check_keywords(schema, path, context.left_out()));
  Json out = assertions_of(schema);
  Json parts = Json::array();
  for (const Json& part : out.value("allOf", Json::array())) {
    RZ_TRY(parts.emplace_back(), with_references(context, part, path, n_parts_left, depth + 1));
  }
  if (out.contains("$ref")) {
    RZ_TRY(const Json* target, context.document().resolve(out["$ref"].get<std::string>(), path, context.left_out()));
    RZ_TRY(parts.emplace_back(), with_references(context, *target, path, n_parts_left, depth + 1));
  }
  if (!parts.empty()) out["allOf"] = std::move(parts);
  return out;
}

}  // namespace

Result<std::vector<Json>> kept_apart(SchemaContext& context, const Json& base, const Json& alternatives,
                                     const std::string& path) {
  std::vector<Json> apart(alternatives.begin(), alternatives.end());
  if (alternatives.size() > kMaxAlternatives) {
    context.left_out().note_overlap(path);
    return apart;
  }
  size_t n_parts_left = kMaxResolvedParts;
  RZ_TRY(const Json common, with_references(context, base, path, n_parts_left, 0));
  std::vector<Json> whole;
  for (const Json& alternative : alternatives) {
    const std::string own_path = path_to(path, std::to_string(whole.size()));
    RZ_TRY(whole.emplace_back(), with_references(context, alternative, own_path, n_parts_left, 0));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    const Json own = both_of(common, whole[i]);
    const std::set<std::string> required = required_names(own);
    size_t n_ways = 1;
    for (size_t j = 0; j < whole.size(); ++j) {
      if (i == j || contradict(own, whole[j])) continue;
      RZ_CHECK_OK(context.check_size());
      std::vector<std::string> names;
      std::ranges::set_difference(required_names(whole[j]), required, std::back_inserter(names));
      if (std::ranges::any_of(names, [&](const std::string& name) { return forbids(own, name); })) continue;
      if (is_about_scalars(whole[j])) {
        apart[i] = both_of(apart[i], {{"not", whole[j]}});
      } else if (!names.empty() && differs_in_names(own, whole[j], names)) {
        apart[i] = both_of(apart[i], without_one_of(names, n_ways));
        if (!has_type(whole[j])) apart[i] = both_of(apart[i], {{"type", "object"}});
      } else {
        context.left_out().note_overlap(path);
      }
    }
  }
  return apart;
}

}  // namespace realizar::grammar
