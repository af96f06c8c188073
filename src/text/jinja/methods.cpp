// Methods of strings, lists and dicts that Jinja's immutable sandbox lets a template call.
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/text.h"

namespace realizar::text::jinja {
namespace {

const Text& string_of(const Value& value) {
  if (!value.is_string()) fail(std::string("expected a string, not ") + type_name(value));
  return value.text();
}

template <bool left, bool right>
Value strip(Interpreter&, const Value& self, Args& args) {
  return stripped(self.text(), args.get(0, "chars"), left, right);
}

// Splits at blanks; the rest after max_splits keeps its blanks.
std::vector<Value> split_blanks(const Text& text, int64_t max_splits, bool from_right) {
  const std::string& s = text.str();
  const auto offsets = char_offsets(s);
  const size_t n = offsets.size() - 1;
  const auto is_blank = [&](size_t i) {
    return is_space_char(std::string_view(s).substr(offsets[i], offsets[i + 1] - offsets[i]));
  };
  std::vector<std::pair<size_t, size_t>> words;  // in characters
  for (size_t i = 0; i < n;) {
    while (i < n && is_blank(i)) ++i;
    const size_t begin = i;
    while (i < n && !is_blank(i)) ++i;
    if (i > begin) words.emplace_back(begin, i);
  }
  if (max_splits >= 0 && words.size() > static_cast<size_t>(max_splits) + 1) {
    const auto n_splits = static_cast<size_t>(max_splits);
    if (from_right) {
      const size_t n_joined = words.size() - n_splits;
      words[n_joined - 1].first = 0;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n_joined - 1));
    } else {
      words[n_splits].second = n;
      words.resize(n_splits + 1);
    }
  }
  std::vector<Value> items;
  for (const auto& [begin, end] : words) items.emplace_back(text.substr(offsets[begin], offsets[end] - offsets[begin]));
  return items;
}

std::vector<Value> split_at(const Text& text, const std::string& separator, int64_t max_splits, bool from_right) {
  if (separator.empty()) fail("empty separator");
  const std::string& s = text.str();
  std::vector<size_t> cuts;
  if (from_right) {
    size_t end = s.size();
    while (max_splits < 0 || static_cast<int64_t>(cuts.size()) < max_splits) {
      if (end < separator.size()) break;
      const size_t found = rfind_in(s, separator, end - separator.size());
      if (found == std::string::npos) break;
      cuts.push_back(found);
      end = found;
    }
    std::reverse(cuts.begin(), cuts.end());
  } else {
    for (size_t at = 0; max_splits < 0 || static_cast<int64_t>(cuts.size()) < max_splits;) {
      const size_t found = find_in(s, separator, at);
      if (found == std::string::npos) break;
      cuts.push_back(found);
      at = found + separator.size();
    }
  }
  std::vector<Value> items;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    items.emplace_back(text.substr(begin, cut - begin));
    begin = cut + separator.size();
  }
  items.emplace_back(text.substr(begin));
  return items;
}

template <bool from_right>
Value split(Interpreter&, const Value& self, Args& args) {
  const Value* separator = args.get(0, "sep");
  const int64_t max_splits = int_arg(args, 1, "maxsplit", -1);
  if (separator == nullptr || separator->is_none()) return make_list(split_blanks(self.text(), max_splits, from_right));
  return make_list(split_at(self.text(), string_of(*separator).str(), max_splits, from_right));
}

Value splitlines(Interpreter&, const Value& self, Args& args) {
  const bool keep_ends = bool_arg(args, 0, "keepends", false);
  const std::string& s = self.str();
  std::vector<Value> lines;
  for (size_t begin = 0; begin < s.size();) {
    size_t end = s.find_first_of("\n\r", begin);
    size_t next = end == std::string::npos ? s.size() : end + 1;
    if (end == std::string::npos)
      end = s.size();
    else if (s[end] == '\r' && next < s.size() && s[next] == '\n')
      ++next;
    lines.emplace_back(self.text().substr(begin, (keep_ends ? next : end) - begin));
    begin = next;
  }
  return make_list(std::move(lines));
}

bool has_affix(const Value& self, const Value& affix, bool at_end) {
  if (affix.is_list()) {
    return std::any_of(affix.items().begin(), affix.items().end(),
                       [&](const Value& one) { return has_affix(self, one, at_end); });
  }
  const std::string& wanted = string_of(affix).str();
  return at_end ? self.str().ends_with(wanted) : self.str().starts_with(wanted);
}

Value startswith(Interpreter&, const Value& self, Args& args) {
  return has_affix(self, required_arg(args, 0, "prefix"), false);
}
Value endswith(Interpreter&, const Value& self, Args& args) {
  return has_affix(self, required_arg(args, 0, "suffix"), true);
}
Value removeprefix(Interpreter&, const Value& self, Args& args) {
  const std::string& prefix = string_of(required_arg(args, 0, "prefix")).str();
  return self.str().starts_with(prefix) ? Value(self.text().substr(prefix.size())) : self;
}
Value removesuffix(Interpreter&, const Value& self, Args& args) {
  const std::string& suffix = string_of(required_arg(args, 0, "suffix")).str();
  return self.str().ends_with(suffix) ? Value(self.text().substr(0, self.str().size() - suffix.size())) : self;
}

template <std::string (*changed)(std::string_view)>
Value with_case(Interpreter&, const Value& self, Args&) {
  return self.text().with_bytes(changed(self.str()));
}

std::string title(std::string_view utf8) {
  return title_utf8(utf8, false);
}

Value replace(Interpreter&, const Value& self, Args& args) {
  return replaced(self.text(), string_of(required_arg(args, 0, "old")), string_of(required_arg(args, 1, "new")),
                  int_arg(args, 2, "count", -1));
}

Value join(Interpreter&, const Value& self, Args& args) {
  const std::vector<Value> items = iterate(required_arg(args, 0, "iterable"));
  for (const Value& item : items) {
    if (!item.is_string()) fail(std::string("sequence item: expected str instance, ") + type_name(item) + " found");
  }
  return joined(items, self.text());
}

// Characters before byte `at`.
int64_t char_index(const std::string& s, size_t at) {
  return static_cast<int64_t>(char_offsets(std::string_view(s).substr(0, at)).size()) - 1;
}

Value find(Interpreter&, const Value& self, Args& args) {
  const size_t at = find_in(self.str(), string_of(required_arg(args, 0, "sub")).str(), 0);
  return at == std::string::npos ? int64_t{-1} : char_index(self.str(), at);
}
Value rfind(Interpreter&, const Value& self, Args& args) {
  const size_t at = rfind_in(self.str(), string_of(required_arg(args, 0, "sub")).str(), std::string::npos);
  return at == std::string::npos ? int64_t{-1} : char_index(self.str(), at);
}
Value string_index(Interpreter& interpreter, const Value& self, Args& args) {
  Value at = find(interpreter, self, args);
  if (at.as_int() < 0) fail("substring not found");
  return at;
}
Value string_count(Interpreter&, const Value& self, Args& args) {
  const std::string& part = string_of(required_arg(args, 0, "sub")).str();
  if (part.empty()) return char_offsets(self.str()).size();
  int64_t n = 0;
  for (size_t at = find_in(self.str(), part, 0); at != std::string::npos;
       at = find_in(self.str(), part, at + part.size()))
    ++n;
  return n;
}

using CodeTest = bool (*)(utf8proc_int32_t code);

template <CodeTest holds>
Value all_chars(Interpreter&, const Value& self, Args&) {
  const std::string& s = self.str();
  const auto offsets = char_offsets(s);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    utf8proc_int32_t code = 0;
    utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data()) + offsets[i],
                     static_cast<utf8proc_ssize_t>(offsets[i + 1] - offsets[i]), &code);
    if (!holds(code < 0 ? 0xfffd : code)) return false;
  }
  return !s.empty();
}

bool is_alpha(utf8proc_int32_t c) {
  const auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_digit(utf8proc_int32_t c) {
  return utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_alpha_or_digit(utf8proc_int32_t c) {
  return is_alpha(c) || is_digit(c);
}
Value isspace(Interpreter&, const Value& self, Args&) {
  const std::string& s = self.str();
  const auto offsets = char_offsets(s);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (!is_space_char(std::string_view(s).substr(offsets[i], offsets[i + 1] - offsets[i]))) return false;
  }
  return !s.empty();
}
Value isupper(Interpreter&, const Value& self, Args&) {
  return self.str() == upper_utf8(self.str()) && self.str() != lower_utf8(self.str());
}
Value islower(Interpreter&, const Value& self, Args&) {
  return self.str() == lower_utf8(self.str()) && self.str() != upper_utf8(self.str());
}

enum class Align { kLeft, kRight, kCenter };

Value aligned(const Value& self, Args& args, Align align, const char* otherwise) {
  constexpr int64_t kMaxWidth = 100000;
  const int64_t width = int_arg(args, 0, "width", 0);
  const Text fill = text_arg(args, 1, "fillchar", otherwise);
  const auto n = static_cast<int64_t>(length(self));
  if (width > kMaxWidth) fail("a width is larger than 100000");
  const int64_t n_fill = std::max<int64_t>(0, width - n);
  // Python's center puts the odd blank on the left if both width and blanks are odd.
  const int64_t left = align == Align::kRight ? n_fill : align == Align::kLeft ? 0 : n_fill / 2 + (n_fill & width & 1);
  Text out;
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self.text());
  for (int64_t i = left; i < n_fill; ++i) out.append(fill);
  return out;
}

template <Align align>
Value padded(Interpreter&, const Value& self, Args& args) {
  return aligned(self, args, align, " ");
}
Value zfill(Interpreter&, const Value& self, Args& args) {
  const bool is_signed = self.str().starts_with('-') || self.str().starts_with('+');
  if (!is_signed) return aligned(self, args, Align::kRight, "0");
  Args rest;
  rest.positional = {int_arg(args, 0, "width", 0) - 1};
  Text out = self.text().substr(0, 1);
  out.append(aligned(self.text().substr(1), rest, Align::kRight, "0").text());
  return out;
}

Value partition_at(const Value& self, size_t at, size_t n) {
  if (at == std::string::npos) return make_list({self, "", ""}, true);
  return make_list({self.text().substr(0, at), self.text().substr(at, n), self.text().substr(at + n)}, true);
}
Value partition(Interpreter&, const Value& self, Args& args) {
  const std::string& separator = string_of(required_arg(args, 0, "sep")).str();
  return partition_at(self, find_in(self.str(), separator, 0), separator.size());
}
Value rpartition(Interpreter&, const Value& self, Args& args) {
  const std::string& separator = string_of(required_arg(args, 0, "sep")).str();
  const size_t at = rfind_in(self.str(), separator, std::string::npos);
  if (at == std::string::npos) return make_list({"", "", self}, true);
  return partition_at(self, at, separator.size());
}

Value list_index(Interpreter&, const Value& self, Args& args) {
  const Value& wanted = required_arg(args, 0, "value");
  for (size_t i = 0; i < self.items().size(); ++i) {
    if (equal(self.items()[i], wanted)) return i;
  }
  fail(repr(wanted).str() + " is not in list");
}
Value list_count(Interpreter&, const Value& self, Args& args) {
  const Value& wanted = required_arg(args, 0, "value");
  return static_cast<int64_t>(
      std::count_if(self.items().begin(), self.items().end(), [&](const Value& v) { return equal(v, wanted); }));
}
Value immutable(Interpreter&, const Value&, Args&) {
  fail("the sandbox does not let a template change a list or dict");
}

// Whether a list or dict is, or contains, the one at `container`.
bool reaches(const Value& value, const void* container) {
  count_steps(1);
  if (value.is_list()) {
    return value.list().get() == container ||
           std::ranges::any_of(value.items(), [&](const Value& item) { return reaches(item, container); });
  }
  if (!value.is_dict()) return false;
  return value.dict().get() == container ||
         std::ranges::any_of(value.dict()->items, [&](const auto& item) { return reaches(item.second, container); });
}

// The items of a list that the template made itself. Throws if adding `added` would make it contain itself.
std::vector<Value>& own_items(const Value& self, const Value* added = nullptr) {
  List& list = *self.list();
  if (list.is_given || list.is_tuple) fail("the sandbox does not let a template change the lists of a request");
  if (added != nullptr && reaches(*added, &list)) fail("a list cannot hold itself");
  count_work(list.items.size());
  return list.items;
}
Dict& own_dict(const Value& self, const Value* added = nullptr) {
  Dict& dict = *self.dict();
  if (dict.is_given) fail("the sandbox does not let a template change the dicts of a request");
  if (added != nullptr && reaches(*added, &dict)) fail("a dict cannot hold itself");
  count_work(dict.items.size());
  return dict;
}

Value append(Interpreter&, const Value& self, Args& args) {
  const Value& added = required_arg(args, 0, "object");
  own_items(self, &added).push_back(added);
  return None{};
}
Value extend(Interpreter&, const Value& self, Args& args) {
  const Value added = make_list(iterate(required_arg(args, 0, "iterable")));
  std::vector<Value>& items = own_items(self, &added);
  count_steps(added.items().size());
  items.insert(items.end(), added.items().begin(), added.items().end());
  return None{};
}
// A negative index counts from the end, and every index is clamped to the list, as in Python.
Value insert(Interpreter&, const Value& self, Args& args) {
  const Value& added = required_arg(args, 1, "object");
  std::vector<Value>& items = own_items(self, &added);
  const auto n = static_cast<int64_t>(items.size());
  const int64_t index = int_arg(args, 0, "index", 0);
  items.insert(items.begin() + std::clamp<int64_t>(index < 0 ? index + n : index, 0, n), added);
  return None{};
}
Value list_pop(Interpreter&, const Value& self, Args& args) {
  std::vector<Value>& items = own_items(self);
  const auto n = static_cast<int64_t>(items.size());
  int64_t index = int_arg(args, 0, "index", -1);
  if (index < 0) index += n;
  if (index < 0 || index >= n) fail("pop index out of range");
  Value popped = items[static_cast<size_t>(index)];
  items.erase(items.begin() + index);
  return popped;
}
Value list_remove(Interpreter& interpreter, const Value& self, Args& args) {
  std::vector<Value>& items = own_items(self);
  items.erase(items.begin() + list_index(interpreter, self, args).as_int());
  return None{};
}
Value list_reverse(Interpreter&, const Value& self, Args&) {
  std::ranges::reverse(own_items(self));
  return None{};
}
Value list_clear(Interpreter&, const Value& self, Args&) {
  own_items(self).clear();
  return None{};
}

Value update(Interpreter&, const Value& self, Args& args) {
  const Value* other = args.get(0, "mapping");
  if (other != nullptr && !other->is_dict()) fail(std::string("expected a dict, not ") + type_name(*other));
  Dict& dict = own_dict(self, other);
  const auto added = other == nullptr ? std::vector<std::pair<Value, Value>>() : other->dict()->items;
  count_steps(added.size());
  for (const auto& [key, value] : added) dict.set(key, value);
  for (const auto& [name, value] : args.named) {
    own_dict(self, &value).set(name, value);
  }
  return None{};
}
Value setdefault(Interpreter&, const Value& self, Args& args) {
  const Value& key = required_arg(args, 0, "key");
  if (const Value* found = self.dict()->find(key)) return *found;
  const Value* given = args.get(1, "default");
  const Value value = given != nullptr ? *given : Value(None{});
  own_dict(self, &value).set(key, value);
  return value;
}
Value dict_pop(Interpreter&, const Value& self, Args& args) {
  const Value& key = required_arg(args, 0, "key");
  Dict& dict = own_dict(self);
  const auto found = std::ranges::find_if(dict.items, [&](const auto& item) { return equal(item.first, key); });
  const Value* otherwise = args.get(1, "default");
  if (found == dict.items.end()) {
    if (otherwise == nullptr) fail("there is no key " + repr(key).str());
    return *otherwise;
  }
  Value popped = found->second;
  dict.items.erase(found);
  return popped;
}
Value dict_clear(Interpreter&, const Value& self, Args&) {
  own_dict(self).items.clear();
  return None{};
}

Value values(Interpreter&, const Value& self, Args&) {
  std::vector<Value> items;
  for (const auto& item : self.dict()->items) items.push_back(item.second);
  return make_list(std::move(items));
}
Value items(Interpreter&, const Value& self, Args&) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : self.dict()->items) pairs.push_back(make_list({key, value}, true));
  return make_list(std::move(pairs));
}
Value get(Interpreter&, const Value& self, Args& args) {
  if (const Value* found = self.dict()->find(required_arg(args, 0, "key"))) return *found;
  const Value* otherwise = args.get(1, "default");
  return otherwise != nullptr ? *otherwise : Value(None{});
}
constexpr auto kStringMethods = std::to_array<Named<Method>>({
    {"strip", strip<true, true>},
    {"lstrip", strip<true, false>},
    {"rstrip", strip<false, true>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", splitlines},
    {"startswith", startswith},
    {"endswith", endswith},
    {"removeprefix", removeprefix},
    {"removesuffix", removesuffix},
    {"upper", with_case<upper_utf8>},
    {"lower", with_case<lower_utf8>},
    {"casefold", with_case<lower_utf8>},
    {"title", with_case<title>},
    {"capitalize", with_case<capitalize_utf8>},
    {"replace", replace},
    {"join", join},
    {"find", find},
    {"rfind", rfind},
    {"index", string_index},
    {"count", string_count},
    {"format", [](Interpreter&, const Value& self, Args& args) -> Value { return brace_format(self.text(), args); }},
    {"isdigit", all_chars<is_digit>},
    {"isdecimal", all_chars<is_digit>},
    {"isnumeric", all_chars<is_digit>},
    {"isalpha", all_chars<is_alpha>},
    {"isalnum", all_chars<is_alpha_or_digit>},
    {"isspace", isspace},
    {"isupper", isupper},
    {"islower", islower},
    {"ljust", padded<Align::kLeft>},
    {"rjust", padded<Align::kRight>},
    {"center", padded<Align::kCenter>},
    {"zfill", zfill},
    {"partition", partition},
    {"rpartition", rpartition},
});

constexpr auto kListMethods = std::to_array<Named<Method>>({
    {"index", list_index},
    {"count", list_count},
    {"copy", [](Interpreter&, const Value& self, Args&) -> Value { return make_list(self.items()); }},
    {"append", append},
    {"extend", extend},
    {"insert", insert},
    {"pop", list_pop},
    {"remove", list_remove},
    {"reverse", list_reverse},
    {"sort", immutable},
    {"clear", list_clear},
});

constexpr auto kDictMethods = std::to_array<Named<Method>>({
    {"keys", [](Interpreter&, const Value& self, Args&) -> Value { return make_list(iterate(self)); }},
    {"values", values},
    {"items", items},
    {"get", get},
    {"copy", [](Interpreter&, const Value& self, Args&) -> Value { return make_dict(self.dict()->items); }},
    {"clear", dict_clear},
    {"pop", dict_pop},
    {"popitem", immutable},
    {"setdefault", setdefault},
    {"update", update},
});

}  // namespace

Method find_string_method(std::string_view name) {
  return find_named<Method>(kStringMethods, name);
}
Method find_list_method(std::string_view name) {
  return find_named<Method>(kListMethods, name);
}
Method find_dict_method(std::string_view name) {
  return find_named<Method>(kDictMethods, name);
}

}  // namespace realizar::text::jinja
