// Objects and arrays.
#include <fmt/format.h>

#include <algorithm>

#include "grammar/code_points.h"
#include "grammar/schema_compiler.h"
#include "grammar/schema_merge.h"

namespace realizar::grammar {
namespace {

constexpr size_t kMaxPrefixItems = 100;

std::string hint_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_false(const Json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  return found != schema.end() && *found == Json(false);
}

// Wider: keys of the patterns may stand there, with any values.
Json without_patterns(Json schema) {
  schema.erase("patternProperties");
  schema.erase("additionalProperties");
  return schema;
}

// Keys as a trie over code points.
struct KeyNode {
  bool is_key = false;
  std::map<uint32_t, size_t> children;
};

std::vector<KeyNode> key_trie(const std::vector<std::string>& names) {
  std::vector<KeyNode> nodes(1);
  for (const std::string& name : names) {
    size_t node = 0;
    for (size_t at = 0; at < name.size();) {
      const auto [found, is_new] = nodes[node].children.try_emplace(read_utf8(name, at), nodes.size());
      node = found->second;
      if (is_new) nodes.emplace_back();
    }
    nodes[node].is_key = true;
  }
  return nodes;
}

}  // namespace

Result<ValueText> SchemaCompiler::object(const Json& schema, const std::string& path) {
  if (schema.contains("patternProperties")) return map_with_pattern(schema, path);
  const auto required = schema.find("required");
  const bool has_names = (schema.contains("properties") && !schema["properties"].empty()) ||
                         (required != schema.end() && !required->empty());
  if (!has_names) return plain_map(schema, path);

  std::vector<Member> members;
  RZ_TRY(const bool possible, add_members(schema, path, members));
  if (!possible) return ValueText();
  std::vector<std::string> names;
  if (schema.contains("properties")) {
    for (const auto& [name, property] : schema["properties"].items()) names.push_back(name);
  }
  if (required != schema.end()) {
    for (const Json& name : *required) names.push_back(name.get<std::string>());
  }
  ValueText more;
  if (!is_false(schema, "additionalProperties")) {
    const Json any = true;
    const Json& schema_of_more = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
    RZ_TRY(const ValueText text, value(schema_of_more, path_to(path, "additionalProperties")));
    if (text) more = book_.add("member", with_colon(key_apart_from(names, path), *text));
  }
  const auto n_required = static_cast<size_t>(std::ranges::count_if(members, &Member::required));
  RZ_CHECK_OK(refuse_counts_of(schema, path, n_required, more ? kNoMaximum : members.size()));
  return ValueText(object_rule(members, more, path));
}

// The named members in the schema's order, then those that are only required. False: a required one is impossible.
Result<bool> SchemaCompiler::add_members(const Json& schema, const std::string& path, std::vector<Member>& members) {
  const Json none = Json::object(), any = true;
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  std::vector<std::string> required;
  if (schema.contains("required")) required = schema["required"].get<std::vector<std::string>>();
  const auto add = [&](const std::string& name, const Json& property, const std::string& own_path) -> Result<bool> {
    const bool is_required = std::ranges::find(required, name) != required.end();
    RZ_TRY(const ValueText text, value(property, own_path));
    if (text) members.push_back({with_colon(gbnf_literal(Json(name).dump()), *text), is_required});
    return text || !is_required;
  };
  for (const auto& [name, property] : properties.items()) {
    RZ_TRY(const bool possible, add(name, property, path_to(path_to(path, "properties"), name)));
    if (!possible) return false;
  }
  const Json& other = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
  for (size_t i = 0; i < required.size(); ++i) {
    const bool seen = std::find(required.begin(), required.begin() + static_cast<std::ptrdiff_t>(i), required[i]) !=
                      required.begin() + static_cast<std::ptrdiff_t>(i);
    if (seen || properties.contains(required[i])) continue;
    RZ_TRY(const bool possible, add(required[i], other, path_to(path, "additionalProperties")));
    if (!possible) return false;
  }
  return true;
}

// Counts of properties that the grammar would have to keep; those that hold anyway are fine.
Status SchemaCompiler::refuse_counts_of(const Json& schema, const std::string& path, size_t n_required,
                                        size_t n_at_most) {
  if (options_.relaxed) return {};
  if (count_of(schema, "minProperties").value_or(0) > n_required) {
    return unsupported(path + ": \"minProperties\" together with named properties is not supported",
                       path_to(path, "minProperties"));
  }
  if (count_of(schema, "maxProperties").value_or(kNoMaximum) < n_at_most) {
    return unsupported(path + ": \"maxProperties\" together with named properties is not supported",
                       path_to(path, "maxProperties"));
  }
  return {};
}

// `rest-i`: what follows once some member stands before member i. `first-i`: what follows the brace, if no member
// before i was written. Both end with the closing brace, so that the chain of rules is one of rules that end rules.
std::string SchemaCompiler::object_rule(const std::vector<Member>& members, const ValueText& more,
                                        const std::string& path) {
  const std::string hint = hint_of(path);
  book_.shared("ws");
  const auto n = members.size();
  const auto first_required = static_cast<size_t>(std::ranges::find_if(members, &Member::required) - members.begin());
  std::string rest = (more ? "(\",\" ws " + *more + ")* " : "") + "ws \"}\"";
  std::string first = more ? "ws " + *more + " " + rest : "";
  for (size_t i = n; i-- > 0;) {
    const auto& [text, required] = members[i];
    const std::string own = "\",\" ws " + text;
    if (i <= first_required) {
      const std::string rest_rule = book_.add(hint + "-rest", rest);
      const std::string here = fmt::format("ws {} {}", text, rest_rule);
      const bool is_last = required || first.empty();
      const std::string others = is_last ? "" : " | " + book_.add(hint + "-first", first);
      first = here + others;
      rest = fmt::format("({}){} {}", own, required ? "" : "?", rest_rule);
    } else {
      rest = fmt::format("({}){} {}", own, required ? "" : "?", rest);
    }
  }
  if (first_required == n) first += std::string(first.empty() ? "" : " | ") + "ws \"}\"";
  return book_.add(hint, "\"{\" (" + first + ")");
}

// Keys that the schema does not name, each as often as one likes.
Result<ValueText> SchemaCompiler::plain_map(const Json& schema, const std::string& path) {
  uint64_t min = count_of(schema, "minProperties").value_or(0);
  const uint64_t max = count_of(schema, "maxProperties").value_or(kNoMaximum);
  if (min > max) return ValueText();
  // Two equal keys count once, and a grammar cannot see that they are equal.
  if (options_.relaxed) min = std::min<uint64_t>(min, 1);
  if (min > 1) {
    return unsupported(path + ": \"minProperties\" above 1 is not supported", path_to(path, "minProperties"));
  }
  if (!schema.contains("additionalProperties") && min == 0 && max == kNoMaximum) {
    return ValueText(book_.shared("object"));
  }
  const Json any = true;
  const Json& more = schema.contains("additionalProperties") ? schema["additionalProperties"] : any;
  RZ_TRY(const ValueText text, value(more, path_to(path, "additionalProperties")));
  if (!text && min > 0) return ValueText();
  const std::string member = text ? with_colon(book_.shared("string"), *text) : "";
  return ValueText(map_rule(member, min, text ? max : 0, path));
}

Result<ValueText> SchemaCompiler::map_with_pattern(const Json& schema, const std::string& path) {
  const Json& patterns = schema["patternProperties"];
  const std::string own_path = path_to(path, "patternProperties");
  const bool alone = !schema.contains("properties") && !schema.contains("required") && patterns.size() == 1 &&
                     count_of(schema, "minProperties").value_or(0) <= 1;
  if (!alone && options_.relaxed) return object(without_patterns(schema), path);
  if (!alone) {
    return unsupported(path + ": \"patternProperties\" is supported with one pattern and no named properties",
                       own_path);
  }
  const auto pattern = patterns.begin();
  const std::string pattern_path = path_to(own_path, pattern.key());
  auto translated = pattern_to_gbnf(pattern.key(), {}, pattern_path);
  if (!translated.ok() && options_.relaxed) return object(without_patterns(schema), path);
  RZ_TRY(const std::string inside, std::move(translated));
  RZ_TRY(const ValueText text, value(pattern.value(), pattern_path));
  const uint64_t min = count_of(schema, "minProperties").value_or(0);
  if (!text && min > 0) return ValueText();
  book_.shared("escape");
  const std::string key = book_.add("key", "\"\\\"\" (" + inside + ") \"\\\"\"");
  const uint64_t max = count_of(schema, "maxProperties").value_or(kNoMaximum);
  return ValueText(map_rule(text ? with_colon(key, *text) : "", min, text ? max : 0, path));
}

std::string SchemaCompiler::map_rule(const std::string& member, uint64_t min, uint64_t max, const std::string& path) {
  book_.shared("ws");
  if (max == 0) return book_.add(hint_of(path), R"("{" ws "}")");
  const std::string member_rule = book_.add("member", member);
  const std::string more =
      max == 1 ? "" : fmt::format(" (\",\" ws {}){}", member_rule, gbnf_repeat(0, max == kNoMaximum ? max : max - 1));
  return book_.add(hint_of(path), fmt::format("\"{{\" (ws {}{}){} ws \"}}\"", member_rule, more, min == 0 ? "?" : ""));
}

// A key that is none of `names`: it leaves their trie at some plain character, or ends where no name does.
std::string SchemaCompiler::key_apart_from(const std::vector<std::string>& names, const std::string& path) {
  const std::vector<KeyNode> nodes = key_trie(names);
  const std::string rest = book_.shared("string-rest");
  std::vector<std::string> rules;
  for (size_t i = 0; i < nodes.size(); ++i) rules.push_back(book_.reserve(hint_of(path) + "-key"));
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<CodeRange> others = plain_string_chars();
    std::string body;
    for (const auto& [code, child] : nodes[i].children) {
      others = intersection(others, complement({{code, code}}));
      body += gbnf_literal(json_char(code)) + " " + rules[child] + " | ";
    }
    if (!nodes[i].is_key) body += "\"\\\"\" | ";
    book_.define(rules[i], fmt::format("{}{} {}", body, gbnf_class(others), rest));
  }
  return "\"\\\"\" " + rules[0];
}

Result<ValueText> SchemaCompiler::array(const Json& schema, const std::string& path) {
  const Json none = Json::array(), any = true;
  const Json& prefix = schema.contains("prefixItems") ? schema["prefixItems"] : none;
  const Json& items = schema.contains("items") ? schema["items"] : any;
  const uint64_t min = count_of(schema, "minItems").value_or(0);
  uint64_t max = count_of(schema, "maxItems").value_or(kNoMaximum);
  if (prefix.size() > kMaxPrefixItems && options_.relaxed) return ValueText(book_.shared("array"));
  if (prefix.size() > kMaxPrefixItems) {
    return unsupported(fmt::format("{}: more than {} \"prefixItems\"", path, kMaxPrefixItems),
                       path_to(path, "prefixItems"));
  }
  if (prefix.empty() && items == any && min == 0 && max == kNoMaximum) return ValueText(book_.shared("array"));
  book_.shared("ws");

  std::vector<std::string> firsts;
  for (size_t i = 0; i < prefix.size() && i < max; ++i) {
    RZ_TRY(const ValueText text, value(prefix[i], path_to(path_to(path, "prefixItems"), std::to_string(i))));
    if (!text) max = i;
    if (text) firsts.push_back(*text);
  }
  ValueText item;
  if (max > firsts.size()) {
    RZ_TRY(item, value(items, path_to(path, "items")));
  }
  if (!item) max = std::min<uint64_t>(max, firsts.size());
  if (min > max) return ValueText();

  // From the last to the first: each optional item holds all that come after it.
  const uint64_t n_firsts = firsts.size();
  std::string rest;
  if (item && n_firsts > 0) {
    const uint64_t more_min = min > n_firsts ? min - n_firsts : 0;
    rest = fmt::format(" (\",\" ws {}){}", *item, gbnf_repeat(more_min, max == kNoMaximum ? max : max - n_firsts));
  } else if (item) {
    const uint64_t more_min = min > 1 ? min - 1 : 0;
    rest = fmt::format("ws {} (\",\" ws {}){}", *item, *item, gbnf_repeat(more_min, max == kNoMaximum ? max : max - 1));
  }
  for (uint64_t i = n_firsts; i-- > 0;) {
    const std::string own = (i == 0 ? "ws " : " \",\" ws ") + firsts[i] + rest;
    rest = i > 0 && i >= min ? " (" + own + ")?" : own;
  }
  const std::string inner = rest.empty() ? "" : "(" + rest + ")" + (min == 0 ? "? " : " ");
  return ValueText(book_.add(hint_of(path), "\"[\" " + inner + "ws \"]\""));
}

}  // namespace realizar::grammar
