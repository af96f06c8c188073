#include "grammar/schema/contradictions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grammar/schema/negation.h"

namespace realizar::grammar {
namespace {

// Comparisons per check; beyond it no contradiction is found.
constexpr size_t kMaxComparisons = 20'000;

// The combined restrictions at one path of schemas that must hold together.
class Facts {
 public:
  // Malformed keywords are reported elsewhere.
  void add(const Json& schema) {
    if (!spend(1)) return;
    if (schema == Json(false)) is_false_ = true;
    if (!schema.is_object()) return;
    const auto of = [&](const char* name) -> const Json& {
      static const Json kNothing;
      const auto found = schema.find(name);
      return found == schema.end() ? kNothing : *found;
    };
    if (!of("type").is_null() && of("nullable") != true) types_.push_back(as_list(of("type")));
    if (of("enum").is_array()) lists_.push_back(of("enum"));
    if (schema.contains("const")) lists_.push_back(Json::array({schema["const"]}));
    if (of("not").is_object()) add_exclusions(of("not"));
    if (of("required").is_array()) {
      for (const Json& name : of("required")) required_.insert(name.is_string() ? name.get<std::string>() : "");
    }
    if (of("properties").is_object()) properties_.push_back(&of("properties"));
    if (of("allOf").is_array()) {
      for (const Json& part : of("allOf")) add(part);
    }
  }

  bool are_impossible(int depth = 0) const {
    if (is_false_) return true;
    std::vector<std::string> types;
    for (const char* type : {"null", "boolean", "object", "array", "number", "string"}) {
      if (allows(type)) types.emplace_back(type);
    }
    if (types.empty()) return true;
    if (!lists_.empty()) {
      return std::ranges::none_of(lists_[0], [&](const Json& value) { return !can_compare() || allows_value(value); });
    }
    return types == std::vector<std::string>{"object"} && lacks_property(depth);
  }

 private:
  bool spend(size_t work) const {
    work_left_ -= std::min(work, work_left_);
    return work_left_ > 0;
  }

  // Charges the work for all lists.
  bool can_compare() const {
    size_t work = types_.size();
    for (const auto* lists : {&lists_, &excluded_}) {
      for (const Json& list : *lists) work += list.size();
    }
    return spend(work);
  }

  void add_exclusions(const Json& negated) {
    if (negated.contains("enum") && negated.size() == 1) excluded_.push_back(negated["enum"]);
    if (negated.contains("const") && negated.size() == 1) excluded_.push_back(Json::array({negated["const"]}));
    if (negated.size() != 1 || !negated.contains("anyOf") || !negated["anyOf"].is_array()) return;
    for (const Json& option : negated["anyOf"]) {
      if (option.is_object()) add_exclusions(option);
    }
  }

  bool allows(const std::string& type) const {
    return std::ranges::all_of(types_, [&](const Json& given) {
      return std::ranges::any_of(
          given, [&](const Json& name) { return name == Json(type) || (type == "number" && name == Json("integer")); });
    });
  }

  bool allows_value(const Json& value) const {
    const auto holds = [&](const Json& list) { return std::ranges::find(list, value) != list.end(); };
    const auto is_of = [&](const Json& given) {
      return std::ranges::any_of(
          given, [&](const Json& name) { return name.is_string() && is_of_type(value, name.get<std::string>()); });
    };
    return std::ranges::all_of(types_, is_of) && std::ranges::all_of(lists_, holds) &&
           std::ranges::none_of(excluded_, [&](const Json& list) { return list.is_array() && holds(list); });
  }

  // Whether a required property is impossible.
  bool lacks_property(int depth) const {
    constexpr int kMaxRequiredDepth = 5;
    return depth < kMaxRequiredDepth && std::ranges::any_of(required_, [&](const std::string& name) {
             Facts own;
             for (const Json* properties : properties_) {
               if (!spend(properties->size())) return false;
               const auto found = properties->find(name);
               if (found != properties->end()) own.add(*found);
             }
             return own.are_impossible(depth + 1);
           });
  }

  mutable size_t work_left_ = kMaxComparisons;
  bool is_false_ = false;
  std::vector<Json> types_, lists_, excluded_;
  std::set<std::string> required_;
  std::vector<const Json*> properties_;
};

}  // namespace

bool contradict(const Json& a, const Json& b) {
  Facts facts;
  facts.add(a);
  facts.add(b);
  return facts.are_impossible();
}

void drop_contradictions(Json& schema) {
  if (!schema.is_object()) return;
  Json base = schema;
  for (const char* name : {"anyOf", "oneOf"}) base.erase(name);
  for (const char* name : {"anyOf", "oneOf"}) {
    if (!schema.contains(name)) continue;
    Json left = Json::array();
    for (const Json& option : schema[name]) {
      if (!contradict(base, option)) left.push_back(option);
    }
    schema[name] = left.empty() ? Json::array({false}) : left;
  }
}

}  // namespace realizar::grammar
