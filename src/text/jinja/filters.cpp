// Filters, which follow "|".
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

// "a.b.0": attributes or items, resolved one after the other.
Value dotted_attribute(Interpreter& in, const Value& object, const Value& path) {
  if (path.is_int()) return in.item(object, path);
  Value value = object;
  const std::string name = to_text(path).str();
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_index =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
    value = in.item(value, is_index ? Value(static_cast<int64_t>(std::stoll(part))) : Value(part));
    begin = end + 1;
  }
  return value;
}

// Lower case for comparing, unless case matters.
Value sort_key(const Value& value, bool case_sensitive) {
  return value.is_string() && !case_sensitive ? Value(lower_utf8(value.str())) : value;
}

Value sorted(Interpreter& in, std::vector<Value> items, bool case_sensitive, bool reverse, const Value* attribute) {
  std::vector<std::pair<std::vector<Value>, Value>> keyed;
  std::vector<Value> paths;
  if (attribute != nullptr && !attribute->is_none()) {
    std::string names = to_text(*attribute).str();
    for (size_t begin = 0; begin <= names.size();) {
      const size_t end = std::min(names.find(',', begin), names.size());
      paths.emplace_back(names.substr(begin, end - begin));
      begin = end + 1;
    }
    if (attribute->is_int()) paths = {*attribute};
  }
  for (Value& item : items) {
    std::vector<Value> key;
    for (const Value& path : paths) key.push_back(sort_key(dotted_attribute(in, item, path), case_sensitive));
    if (paths.empty()) key.push_back(sort_key(item, case_sensitive));
    keyed.emplace_back(std::move(key), std::move(item));
  }
  count_steps(keyed.size() * 16);
  std::stable_sort(keyed.begin(), keyed.end(), [reverse](const auto& a, const auto& b) {
    const int order = compare(make_list(a.first), make_list(b.first));
    return reverse ? order > 0 : order < 0;
  });
  std::vector<Value> out;
  for (auto& entry : keyed) out.push_back(std::move(entry.second));
  return make_list(std::move(out));
}

Value sort(Interpreter& in, const Value& input, Args& args) {
  return sorted(in, iterate(input), bool_arg(args, 1, "case_sensitive", false), bool_arg(args, 0, "reverse", false),
                args.get(2, "attribute"));
}

Value dictsort(Interpreter& in, const Value& input, Args& args) {
  if (!input.is_dict()) fail("dictsort needs a mapping");
  std::vector<Value> pairs;
  for (const auto& [key, value] : input.dict()->items) pairs.push_back(make_list({key, value}, true));
  const Value by = text_arg(args, 1, "by", "key").str() == "value" ? 1 : 0;
  return sorted(in, std::move(pairs), bool_arg(args, 0, "case_sensitive", false), bool_arg(args, 2, "reverse", false),
                &by);
}

Value groupby(Interpreter& in, const Value& input, Args& args) {
  const Value& path = required_arg(args, 0, "attribute");
  const bool case_sensitive = bool_arg(args, 2, "case_sensitive", false);
  const Value* otherwise = args.get(1, "default");
  std::vector<Value> items = iterate(input);
  const auto key_of = [&](const Value& item) {
    Value key = dotted_attribute(in, item, path);
    return key.is_undefined() && otherwise != nullptr ? *otherwise : key;
  };
  count_steps(items.size() * 16);
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return compare(sort_key(key_of(a), case_sensitive), sort_key(key_of(b), case_sensitive)) < 0;
  });
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    const Value key = key_of(items[begin]);
    std::vector<Value> group;
    size_t end = begin;
    while (end < items.size() && equal(sort_key(key_of(items[end]), case_sensitive), sort_key(key, case_sensitive)))
      group.push_back(items[end++]);
    groups.push_back(make_list({key, make_list(std::move(group))}, true));
    begin = end;
  }
  return make_list(std::move(groups));
}

Value unique(Interpreter& in, const Value& input, Args& args) {
  const bool case_sensitive = bool_arg(args, 0, "case_sensitive", false);
  const Value* path = args.get(1, "attribute");
  std::vector<Value> kept, seen;
  for (const Value& item : iterate(input)) {
    const Value key = sort_key(path != nullptr ? dotted_attribute(in, item, *path) : item, case_sensitive);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(other, key); })) continue;
    seen.push_back(key);
    kept.push_back(item);
  }
  return make_lazy(std::move(kept));
}

// Arguments after the first n.
Args rest_of(const Args& args, size_t n) {
  Args rest;
  rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(std::min(n, args.positional.size())),
                         args.positional.end());
  rest.named = args.named;
  return rest;
}

// The items for map, select and similar filters: none if the input is undefined or false.
std::vector<Value> items_if_any(const Value& input) {
  return truthy(input) ? iterate(input) : std::vector<Value>();
}

Value map(Interpreter& in, const Value& input, Args& args) {
  std::vector<Value> out;
  if (args.positional.empty()) {
    const Value* path = args.get(~size_t{0}, "attribute");
    const Value* otherwise = args.get(~size_t{0}, "default");
    if (path == nullptr) fail("map requires a filter argument");
    for (const Value& item : items_if_any(input)) {
      const Value value = dotted_attribute(in, item, *path);
      out.push_back(value.is_undefined() && otherwise != nullptr ? *otherwise : value);
    }
    return make_lazy(std::move(out));
  }
  const std::string name = to_text(args.positional[0]).str();
  for (const Value& item : items_if_any(input)) {
    Args rest = rest_of(args, 1);
    out.push_back(in.apply_filter(name, item, rest));
  }
  return make_lazy(std::move(out));
}

// select, reject, selectattr and rejectattr.
template <bool by_attribute, bool wanted>
Value chosen(Interpreter& in, const Value& input, Args& args) {
  const size_t n_path = by_attribute ? 1 : 0;
  std::vector<Value> out;
  for (const Value& item : items_if_any(input)) {
    const Value subject = by_attribute ? dotted_attribute(in, item, required_arg(args, 0, "attribute")) : item;
    bool holds = truthy(subject);
    if (args.positional.size() > n_path) {
      Args rest = rest_of(args, n_path + 1);
      holds = in.apply_test(to_text(args.positional[n_path]).str(), subject, rest);
    }
    if (holds == wanted) out.push_back(item);
  }
  return make_lazy(std::move(out));
}

Value join(Interpreter& in, const Value& input, Args& args) {
  std::vector<Value> items = iterate(input);
  if (const Value* path = args.get(1, "attribute")) {
    for (Value& item : items) item = dotted_attribute(in, item, *path);
  }
  return joined(items, text_arg(args, 0, "d", ""));
}

Value otherwise(Interpreter&, const Value& input, Args& args) {
  const bool use = input.is_undefined() || (bool_arg(args, 1, "boolean", false) && !truthy(input));
  if (!use) return input;
  const Value* value = args.get(0, "default_value");
  return value != nullptr ? *value : Value("");
}

Value first(Interpreter& in, const Value& input, Args&) {
  if (input.is_string() && !input.text().empty()) return in.item(input, 0);
  const auto items = iterate(input);
  return items.empty() ? Value(Undefined{"No first item, sequence was empty."}) : items.front();
}
Value last(Interpreter& in, const Value& input, Args&) {
  if (input.is_string() && !input.text().empty()) return in.item(input, -1);
  const auto items = iterate(input);
  return items.empty() ? Value(Undefined{"No last item, sequence was empty."}) : items.back();
}
Value count(Interpreter&, const Value& input, Args&) {
  return length(input);
}

Value reverse(Interpreter&, const Value& input, Args&) {
  auto items = iterate(input);
  std::reverse(items.begin(), items.end());
  if (!input.is_string()) return make_lazy(std::move(items));
  Text text;
  for (const Value& character : items) text.append(character.text());
  return text;
}

Value items(Interpreter& in, const Value& input, Args& args) {
  if (input.is_undefined()) return make_lazy({});
  if (!input.is_dict()) fail("Can only get item pairs from a mapping.");
  return make_lazy(find_dict_method("items")(in, input, args).items());
}

Value batch(Interpreter&, const Value& input, Args& args) {
  const int64_t size = int_arg(args, 0, "linecount", 0);
  if (size < 1) fail("batch needs a size of 1 or more");
  const Value* fill = args.get(1, "fill_with");
  std::vector<Value> lines, line;
  for (Value& item : iterate(input)) {
    line.push_back(std::move(item));
    if (static_cast<int64_t>(line.size()) == size) lines.push_back(make_list(std::exchange(line, {})));
  }
  if (!line.empty()) {
    while (fill != nullptr && static_cast<int64_t>(line.size()) < std::min<int64_t>(size, 100000))
      line.push_back(*fill);
    lines.push_back(make_list(std::move(line)));
  }
  return make_lazy(std::move(lines));
}

Value slice(Interpreter&, const Value& input, Args& args) {
  const int64_t n_slices = int_arg(args, 0, "slices", 0);
  if (n_slices < 1 || n_slices > 100000) fail("slice needs a number of slices from 1 to 100000");
  const auto all = iterate(input);
  const Value* fill = args.get(1, "fill_with");
  const size_t n = static_cast<size_t>(n_slices), per_slice = all.size() / n, n_longer = all.size() % n;
  std::vector<Value> slices;
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = per_slice + (i < n_longer ? 1 : 0);
    std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(at),
                            all.begin() + static_cast<std::ptrdiff_t>(at + size));
    if (fill != nullptr && n_longer > 0 && i >= n_longer) part.push_back(*fill);
    slices.push_back(make_list(std::move(part)));
    at += size;
  }
  return make_lazy(std::move(slices));
}

// The maximum, or with a negative sign the minimum.
template <int sign>
Value extreme(Interpreter& in, const Value& input, Args& args) {
  const bool case_sensitive = bool_arg(args, 0, "case_sensitive", false);
  const Value* path = args.get(1, "attribute");
  const auto items_in = iterate(input);
  if (items_in.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const auto key_of = [&](const Value& item) {
    return sort_key(path != nullptr ? dotted_attribute(in, item, *path) : item, case_sensitive);
  };
  const Value* best = &items_in.front();
  for (const Value& item : items_in) {
    if (compare(key_of(item), key_of(*best)) * sign > 0) best = &item;
  }
  return *best;
}
Value sum(Interpreter& in, const Value& input, Args& args) {
  const Value* path = args.get(0, "attribute");
  const Value* start = args.get(1, "start");
  Value total = start != nullptr ? *start : Value(0);
  for (const Value& item : iterate(input)) {
    total =
        binary(Operator::kAdd, total, path != nullptr && !path->is_none() ? dotted_attribute(in, item, *path) : item);
  }
  return total;
}

Value trim(Interpreter&, const Value& input, Args& args) {
  return stripped(to_text(input), args.get(0, "chars"), true, true);
}

// Changes the case of the input's text.
template <std::string (*changed)(std::string_view)>
Value with_case(Interpreter&, const Value& input, Args&) {
  const Text text = to_text(input);
  return text.with_bytes(changed(text.str()));
}

std::string title(std::string_view utf8) {
  return title_utf8(utf8, true);
}

Value replace(Interpreter&, const Value& input, Args& args) {
  return replaced(to_text(input), to_text(required_arg(args, 0, "old")), to_text(required_arg(args, 1, "new")),
                  int_arg(args, 2, "count", -1));
}

Value indent(Interpreter&, const Value& input, Args& args) {
  const Value* width = args.get(0, "width");
  const bool first_too = bool_arg(args, 1, "first", false), blank_too = bool_arg(args, 2, "blank", false);
  Text margin(std::string(4, ' '));
  if (width != nullptr && width->is_string())
    margin = width->text();
  else if (width != nullptr)
    margin = Text(std::string(static_cast<size_t>(std::clamp<int64_t>(int_arg(args, 0, "width", 4), 0, 1000)), ' '));
  if (!input.is_string()) fail(std::string("indent needs a string, not ") + type_name(input));
  const Text& text = input.text();
  Text out;
  for (size_t begin = 0, n_line = 0; begin <= text.size(); ++n_line) {
    const size_t end = std::min(text.str().find('\n', begin), text.size());
    const bool is_blank = end == begin;
    count_steps(1);
    if (n_line > 0) out.append("\n");
    if ((n_line == 0 && first_too) || (n_line > 0 && (blank_too || !is_blank))) out.append(margin);
    out.append(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

void refuse_undefined(const Value& input) {
  if (input.is_undefined()) fail("'" + input.undefined_name() + "' is undefined");
}

Value to_int(Interpreter&, const Value& input, Args& args) {
  const Value* given = args.get(0, "default");
  const Value fallback = given != nullptr ? *given : Value(0);
  refuse_undefined(input);
  if (input.is_int() || input.is_bool()) return input.as_int();
  if (input.is_float())
    return std::isfinite(input.as_double()) && std::fabs(input.as_double()) < 9e18
               ? Value(static_cast<int64_t>(input.as_double()))
               : fallback;
  if (!input.is_string()) return fallback;
  const std::string text = stripped(input.text(), nullptr, true, true).str();
  const int64_t base = int_arg(args, 1, "base", 10);
  if (base < 2 || base > 36) fail("int() base must be 2 to 36");
  int64_t value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto result = std::from_chars(begin, text.data() + text.size(), value, static_cast<int>(base));
  if (result.ec == std::errc{} && result.ptr == text.data() + text.size() && begin < result.ptr) return value;
  double number = 0;
  const auto as_float = std::from_chars(begin, text.data() + text.size(), number);
  if (as_float.ec == std::errc{} && as_float.ptr == text.data() + text.size() && std::fabs(number) < 9e18)
    return static_cast<int64_t>(number);
  return fallback;
}

Value to_float(Interpreter&, const Value& input, Args& args) {
  const Value* given = args.get(0, "default");
  refuse_undefined(input);
  if (input.is_number()) return input.as_double();
  const Value fallback = given != nullptr ? *given : Value(0.0);
  if (!input.is_string()) return fallback;
  const std::string text = stripped(input.text(), nullptr, true, true).str();
  double number = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto result = std::from_chars(begin, text.data() + text.size(), number);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size() ? Value(number) : fallback;
}

const Value& number_of(const Value& input) {
  refuse_undefined(input);
  if (!input.is_number()) fail(std::string("expected a number, not ") + type_name(input));
  return input;
}

Value absolute(Interpreter&, const Value& input, Args&) {
  number_of(input);
  if (input.is_float()) return std::fabs(input.as_double());
  if (input.as_int() == INT64_MIN) fail("integer overflow");
  return input.as_int() < 0 ? -input.as_int() : input.as_int();
}

Value round(Interpreter&, const Value& input, Args& args) {
  const double value = number_of(input).as_double();
  const int64_t precision = int_arg(args, 0, "precision", 0);
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<int64_t>(precision, -300, 300)));
  const std::string method = text_arg(args, 1, "method", "common").str();
  if (method == "common" && !input.is_float()) {
    return precision >= 0 ? input.as_int() : static_cast<int64_t>(std::nearbyint(value * scale) / scale);
  }
  if (method == "ceil") return std::ceil(value * scale) / scale;
  if (method == "floor") return std::floor(value * scale) / scale;
  if (method != "common") fail("method must be common, ceil or floor");
  return std::nearbyint(value * scale) / scale;
}

Value tojson(Interpreter&, const Value& input, Args& args) {
  JsonStyle style;
  style.ensure_ascii = bool_arg(args, ~size_t{0}, "ensure_ascii", false);
  style.sort_keys = bool_arg(args, ~size_t{0}, "sort_keys", false);
  const Value* indent_arg = args.get(0, "indent");
  if (indent_arg != nullptr && !indent_arg->is_none()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(int_arg(args, 0, "indent", 0), 0, 100));
    style.item_separator = ",";
  }
  const Value* separators = args.get(~size_t{0}, "separators");
  if (separators != nullptr && separators->is_list() && separators->items().size() == 2) {
    style.item_separator = to_text(separators->items()[0]).str();
    style.key_separator = to_text(separators->items()[1]).str();
  }
  return to_json(input, style);
}

// Escapes; `table` has pairs of a character and its replacement.
Value escape(Interpreter&, const Value& input, Args&) {
  static constexpr std::array<std::pair<char, const char*>, 5> kTable = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}}};
  const Text text = to_text(input);
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto found =
        std::find_if(kTable.begin(), kTable.end(), [&](const auto& entry) { return entry.first == text.str()[i]; });
    out.append(found == kTable.end() ? text.substr(i, 1) : Text(found->second, text.is_input_at(i)));
  }
  return out;
}

Value urlencode(Interpreter&, const Value& input, Args&) {
  if (!input.is_list() && !input.is_dict()) {
    const Text text = to_text(input);
    return text.with_bytes(url_quoted(text.str(), false));
  }
  std::vector<Value> parts;
  const auto add = [&](const Value& name, const Value& value) {
    Text part = to_text(name), right = to_text(value);
    part = part.with_bytes(url_quoted(part.str(), true) + "=");
    part.append(right.with_bytes(url_quoted(right.str(), true)));
    parts.emplace_back(std::move(part));
  };
  if (input.is_dict()) {
    for (const auto& [name, value] : input.dict()->items) add(name, value);
  } else {
    for (const Value& item : input.items()) {
      const std::vector<Value> pair = iterate(item);
      if (pair.size() != 2) fail("expected 2 values to unpack, actual " + std::to_string(pair.size()));
      add(pair[0], pair[1]);
    }
  }
  return joined(parts, Text("&"));
}

Value truncate(Interpreter&, const Value& input, Args& args) {
  if (input.is_undefined()) return input;
  if (!input.is_string()) fail(std::string("truncate needs a string, not ") + type_name(input));
  const Text& text = input.text();
  const auto offsets = char_offsets(text.str());
  const auto n = static_cast<int64_t>(offsets.size()) - 1;
  const int64_t max_chars = int_arg(args, 0, "length", 255), leeway = int_arg(args, 3, "leeway", 5);
  const Text end = text_arg(args, 2, "end", "...");
  const auto n_end = static_cast<int64_t>(char_offsets(end.str()).size()) - 1;
  if (max_chars < n_end) fail("expected length >= " + std::to_string(n_end));
  if (n <= max_chars + leeway) return text;
  Text kept = text.substr(0, offsets[static_cast<size_t>(max_chars - n_end)]);
  const size_t blank = kept.str().rfind(' ');
  if (!bool_arg(args, 1, "killwords", false) && blank != std::string::npos) kept = kept.substr(0, blank);
  kept.append(end);
  return kept;
}

Value center(Interpreter& in, const Value& input, Args& args) {
  Args method_args;
  method_args.positional = {int_arg(args, 0, "width", 80)};
  return find_string_method("center")(in, Value(to_text(input)), method_args);
}

Value format(Interpreter&, const Value& input, Args& args) {
  if (args.named.empty()) return percent_format(to_text(input), make_list(args.positional, true));
  auto dict = std::make_shared<Dict>();
  for (const auto& [name, value] : args.named) dict->set(name, value);
  return percent_format(to_text(input), Value(dict));
}

Value attr(Interpreter& in, const Value& input, Args& args) {
  return in.attribute(input, to_text(required_arg(args, 0, "name")).str());
}

Value striptags(Interpreter& in, const Value& input, Args&) {
  const Text text = to_text(input);
  Text out;
  bool in_tag = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.str()[i];
    if (c == '<')
      in_tag = true;
    else if (c == '>' && in_tag)
      in_tag = false;
    else if (!in_tag)
      out.append(text.substr(i, 1));
  }
  Args none;
  return joined(find_string_method("split")(in, Value(out), none).items(), " ");
}

Value random(Interpreter&, const Value&, Args&) {
  fail("the filter 'random' is not supported: a prompt must not depend on chance");
}

constexpr auto kFilters = std::to_array<Named<Filter>>({
    {"abs", absolute},
    {"attr", attr},
    {"batch", batch},
    {"capitalize", with_case<capitalize_utf8>},
    {"center", center},
    {"count", count},
    {"d", otherwise},
    {"default", otherwise},
    {"dictsort", dictsort},
    {"e", escape},
    {"escape", escape},
    {"first", first},
    {"float", to_float},
    {"forceescape", escape},
    {"format", format},
    {"groupby", groupby},
    {"indent", indent},
    {"int", to_int},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", count},
    {"list", [](Interpreter&, const Value& input, Args&) -> Value { return make_list(iterate(input)); }},
    {"lower", with_case<lower_utf8>},
    {"map", map},
    {"max", extreme<1>},
    {"min", extreme<-1>},
    {"pprint", [](Interpreter&, const Value& input, Args&) -> Value { return repr(input); }},
    {"random", random},
    {"reject", chosen<false, false>},
    {"rejectattr", chosen<true, false>},
    {"replace", replace},
    {"reverse", reverse},
    {"round", round},
    {"safe", [](Interpreter&, const Value& input, Args&) { return input; }},
    {"select", chosen<false, true>},
    {"selectattr", chosen<true, true>},
    {"slice", slice},
    {"sort", sort},
    {"string", [](Interpreter&, const Value& input, Args&) -> Value { return to_text(input); }},
    {"striptags", striptags},
    {"sum", sum},
    {"title", with_case<title>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"unique", unique},
    {"upper", with_case<upper_utf8>},
    {"urlencode", urlencode},
    {"wordcount", [](Interpreter&, const Value& input, Args&) -> Value { return n_words(to_text(input).str()); }},
});

}  // namespace

Filter find_filter(std::string_view name) {
  return find_named<Filter>(kFilters, name);
}

}  // namespace realizar::text::jinja
