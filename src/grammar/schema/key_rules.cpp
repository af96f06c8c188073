#include "grammar/schema/key_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/try.h"
#include "grammar/code_points.h"

namespace realizar::grammar {
namespace {

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

// A key that is none of `names`: it leaves their trie at some plain character, or ends where no name does.
Result<ExprId> KeyRules::key_apart_from(const std::vector<std::string>& names) {
  const std::vector<KeyNode> nodes = key_trie(names);
  if (nodes.size() > context_.limits().max_rules) return limit_exceeded("the schema makes too large a grammar");
  const ExprId rest = book_.shared("string-rest"), quote = book_.literal("\"");
  std::vector<RuleId> rules;
  for (size_t i = 0; i < nodes.size(); ++i) rules.push_back(book_.reserve("key"));
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<CodeRange> others = plain_string_chars();
    std::vector<ExprId> options;
    for (const auto& [code, child] : nodes[i].children) {
      others = intersection(others, complement({{code, code}}));
      options.push_back(book_.sequence({book_.literal(json_char(code)), book_.call(rules[child])}));
    }
    if (!nodes[i].is_key) options.push_back(quote);
    options.push_back(book_.sequence({book_.char_of(others), rest}));
    book_.define(rules[i], book_.choice(options));
  }
  return book_.sequence({quote, book_.call(rules[0])});
}

Result<ValueExpr> KeyRules::other_key(const Json& schema, const std::vector<std::string>& names,
                                      const std::string& path) {
  if (!schema.contains("propertyNames")) {
    if (names.empty()) return ValueExpr(book_.shared("string"));
    RZ_TRY(const ExprId key, key_apart_from(names));
    return ValueExpr(key);
  }
  Terms terms;
  RZ_TRY(const TermId keys, other_keys(terms, schema, names, path));
  const auto machine = terms.machine_of(keys);
  if (machine) return key_of(*machine);
  RZ_CHECK_OK(context_.left_out().take(too_large(path, "propertyNames")));
  return ValueExpr(book_.shared("string"));
}

Result<TermId> KeyRules::other_keys(Terms& terms, const Json& schema, const std::vector<std::string>& names,
                                    const std::string& path) {
  std::vector<TermId> taken;
  for (const std::string& name : names) taken.push_back(terms.literal(name));
  const TermId others = terms.complement(terms.any_of(taken));
  if (!schema.contains("propertyNames")) return others;
  RZ_TRY(const TermId allowed, languages_.of(terms, schema["propertyNames"], path_to(path, "propertyNames")));
  return terms.all_of({allowed, others});
}

ValueExpr KeyRules::key_of(const TextMachine& machine) {
  if (machine.states.empty()) return ValueExpr();
  const ExprId quote = book_.literal("\"");
  return ValueExpr(book_.add("key", book_.sequence({quote, expr_of(book_, machine, true), quote})));
}

Error KeyRules::too_large(const std::string& path, const char* keyword) {
  return unsupported(fmt::format("{}: \"{}\" takes too large an automaton", path, keyword), path_to(path, keyword));
}

Result<Json> KeyRules::with_allowed_names(const Json& schema, const std::string& path) {
  const std::string own_path = path_to(path, "propertyNames");
  Json out = schema, properties = schema.value("properties", Json::object());
  const Json more = schema.value("additionalProperties", Json(true));
  for (const Json& name : schema.value("required", Json::array()))
    properties.emplace(name.get<std::string>(), Json(more));
  RZ_TRY(const std::optional<Json> listed, finite_values_.of(schema["propertyNames"], own_path));
  const auto has = [&](const char* keyword) { return schema.contains(keyword); };
  if (listed && !has("minProperties") && !has("maxProperties") && !has("patternProperties")) {
    for (const Json& name : *listed) {
      if (name.is_string()) properties.emplace(name.get<std::string>(), Json(more));
    }
    out["additionalProperties"] = false;
  }
  Terms terms;
  RZ_TRY(const TermId allowed, languages_.of(terms, schema["propertyNames"], own_path));
  for (const auto& [name, property] : properties.items()) {
    const auto is_allowed = terms.matches(allowed, name);
    if (!is_allowed) return too_large(path, "propertyNames");
    if (!*is_allowed) property = false;
  }
  if (!properties.empty()) out["properties"] = properties;
  return out;
}

}  // namespace realizar::grammar
