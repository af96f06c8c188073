#include "text/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace realizar::text::jinja {
namespace {

constexpr int kMaxValueDepth = 200;

[[noreturn]] void too_deep() {
  throw TemplateError{"values are nested too deep", true};
}

constexpr size_t kCompareTicks = 4;

bool equal_at(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) too_deep();
  count_work(kCompareTicks);
  if (a.is_number() && b.is_number()) {
    return a.is_float() || b.is_float() ? a.as_double() == b.as_double() : a.as_int() == b.as_int();
  }
  if (a.is_string() && b.is_string()) {
    if (a.str().size() != b.str().size()) return false;
    count_work(a.str().size());
    return a.str() == b.str();
  }
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_list() && b.is_list()) {
    return a.list()->is_tuple == b.list()->is_tuple &&
           std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                      [depth](const Value& x, const Value& y) { return equal_at(x, y, depth + 1); });
  }
  if (a.is_dict() && b.is_dict()) {
    if (a.dict()->items.size() != b.dict()->items.size()) return false;
    return std::all_of(a.dict()->items.begin(), a.dict()->items.end(), [&](const auto& item) {
      const Value* other = b.dict()->find(item.first);
      return other != nullptr && equal_at(item.second, *other, depth + 1);
    });
  }
  return a.is_callable() && b.is_callable() && a.callable() == b.callable();
}

// Python prints a string in single quotes, unless it contains one and no double quote.
Text quoted(const Text& text) {
  const std::string& s = text.str();
  const bool use_double = s.find('\'') != std::string::npos && s.find('"') == std::string::npos;
  const char quote = use_double ? '"' : '\'';
  Text out(std::string(1, quote));
  for (size_t i = 0; i < s.size(); ++i) {
    const auto c = static_cast<unsigned char>(s[i]);
    const bool is_input = text.is_input_at(i);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out.append(Text(std::string("\\") + s[i], is_input));
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out.append(Text(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", is_input));
    } else if (c < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out.append(Text(escape, is_input));
    } else {
      out.append(text.substr(i, 1));
    }
  }
  out.append(Text(std::string(1, quote)));
  return out;
}

Text joined(const std::vector<Text>& parts, const char* separator) {
  Text out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

Text repr_at(const Value& value, int depth) {
  if (depth > kMaxValueDepth) too_deep();
  if (value.is_undefined()) return "Undefined";
  if (value.is_string()) return quoted(value.text());
  std::vector<Text> parts;
  if (value.is_list()) {
    for (const Value& item : value.items()) parts.push_back(repr_at(item, depth + 1));
    const bool is_tuple = value.list()->is_tuple;
    Text out(is_tuple ? "(" : "[");
    out.append(joined(parts, ", "));
    out.append(is_tuple ? (parts.size() == 1 ? ",)" : ")") : "]");
    return out;
  }
  if (value.is_dict()) {
    for (const auto& [key, item] : value.dict()->items) {
      Text part = repr_at(key, depth + 1);
      part.append(": ");
      part.append(repr_at(item, depth + 1));
      parts.push_back(std::move(part));
    }
    Text out(value.dict()->is_namespace ? "<Namespace {" : "{");
    out.append(joined(parts, ", "));
    out.append(value.dict()->is_namespace ? "}>" : "}");
    return out;
  }
  return to_text(value);
}

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value, int depth) {
    if (depth > kMaxValueDepth) too_deep();
    if (value.is_none()) return out_.append("null");
    if (value.is_bool()) return out_.append(value.as_bool() ? "true" : "false");
    if (value.is_float()) return write_float(value.as_double());
    if (value.is_int()) return out_.append(to_text(value));
    if (value.is_string()) return write_string(value.text());
    if (value.is_list()) return write_list(value.items(), depth);
    if (value.is_dict()) return write_dict(*value.dict(), depth);
    throw TemplateError{std::string("Object of type ") + type_name(value) + " is not JSON serializable"};
  }

  Text take() { return std::move(out_); }

 private:
  void write_float(double value) {
    if (std::isfinite(value)) return out_.append(Text(float_repr(value)));
    out_.append(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  }

  void write_string(const Text& text) {
    out_.append("\"");
    const std::string& s = text.str();
    size_t plain_from = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      const std::string escape = escaped(static_cast<unsigned char>(s[i]));
      if (escape.empty()) continue;
      out_.append(text.substr(plain_from, i - plain_from));
      out_.append(Text(escape, text.is_input_at(i)));
      plain_from = i + 1;
    }
    out_.append(text.substr(plain_from));
    out_.append("\"");
  }

  static std::string escaped(unsigned char c) {
    constexpr std::string_view kCharacters = "\"\\\n\r\t\b\f", kLetters = "\"\\nrtbf";
    if (const size_t i = kCharacters.find(static_cast<char>(c)); i != std::string_view::npos)
      return {'\\', kLetters[i]};
    return c < 0x20 ? fmt::format("\\u{:04x}", c) : "";
  }

  void write_list(const std::vector<Value>& items, int depth) {
    if (items.empty()) return out_.append("[]");
    out_.append("[");
    for (size_t i = 0; i < items.size(); ++i) {
      begin_item(i, depth + 1);
      write(items[i], depth + 1);
    }
    new_line(depth);
    out_.append("]");
  }

  void write_dict(const Dict& dict, int depth) {
    if (dict.items.empty()) return out_.append("{}");
    count_work(dict.items.size());
    auto items = dict.items;
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(),
                       [](const auto& a, const auto& b) { return compare(a.first, b.first) < 0; });
    }
    out_.append("{");
    for (size_t i = 0; i < items.size(); ++i) {
      begin_item(i, depth + 1);
      write_key(items[i].first);
      out_.append(Text(style_.key_separator));
      write(items[i].second, depth + 1);
    }
    new_line(depth);
    out_.append("}");
  }

  // json.dumps converts keys of other scalar types to strings.
  void write_key(const Value& key) {
    if (key.is_string()) return write_string(key.text());
    JsonWriter scalar(style_);
    scalar.write(key, 0);
    write_string(scalar.take());
  }

  void begin_item(size_t i, int depth) {
    if (i > 0) out_.append(Text(style_.item_separator));
    new_line(depth);
  }

  void new_line(int depth) {
    if (style_.indent < 0) return;
    out_.append(Text("\n" + std::string(static_cast<size_t>(style_.indent) * static_cast<size_t>(depth), ' ')));
  }

  const JsonStyle& style_;
  Text out_;
};

}  // namespace

void fail(const std::string& message) {
  throw TemplateError{message};
}

const Value* Dict::find(const Value& key) const {
  for (const auto& item : items) {
    if (equal(item.first, key)) return &item.second;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  count_work(items.size());
  for (const auto& item : items) {
    if (item.first.is_string() && item.first.str() == key) return &item.second;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  if (const Value* found = find(key)) {
    *const_cast<Value*>(found) = std::move(value);
  } else {
    items.emplace_back(key, std::move(value));
  }
}

const Value* Args::get(size_t i, std::string_view name) const {
  if (i < positional.size()) return &positional[i];
  for (const auto& [given, value] : named) {
    if (given == name) return &value;
  }
  return nullptr;
}

Value make_list(std::vector<Value> items, bool is_tuple) {
  return std::make_shared<List>(List{std::move(items), is_tuple});
}

Value make_lazy(std::vector<Value> items) {
  return std::make_shared<List>(List{std::move(items), false, true});
}

Value make_dict(std::vector<std::pair<Value, Value>> items) {
  return std::make_shared<Dict>(Dict{std::move(items), false});
}

Value make_function(std::string name, std::function<Value(Interpreter&, Args&)> call) {
  return std::make_shared<Callable>(Callable{std::move(name), std::move(call), nullptr});
}

const char* type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int";
  if (value.is_float()) return "float";
  if (value.is_string()) return "str";
  if (value.is_list()) return value.list()->is_tuple ? "tuple" : "list";
  if (value.is_dict()) return value.dict()->is_namespace ? "Namespace" : "dict";
  return "function";
}

bool truthy(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_number()) return value.as_double() != 0;
  if (value.is_string()) return !value.text().empty();
  if (value.is_list()) return value.list()->is_lazy || !value.items().empty();
  if (value.is_dict()) return value.dict()->is_namespace || !value.dict()->items.empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  return equal_at(a, b, 0);
}

int compare(const Value& a, const Value& b) {
  count_work(kCompareTicks);
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) {
      return a.as_double() < b.as_double() ? -1 : a.as_double() > b.as_double() ? 1 : 0;
    }
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  }
  if (a.is_string() && b.is_string()) {
    count_work(std::min(a.str().size(), b.str().size()));
    return a.str().compare(b.str());  // UTF-8 sorts like code points
  }
  if (a.is_list() && b.is_list()) {
    for (size_t i = 0; i < std::min(a.items().size(), b.items().size()); ++i) {
      if (!equal(a.items()[i], b.items()[i])) return compare(a.items()[i], b.items()[i]);
    }
    return a.items().size() < b.items().size() ? -1 : a.items().size() > b.items().size() ? 1 : 0;
  }
  throw TemplateError{std::string("'<' not supported between instances of '") + type_name(a) + "' and '" +
                      type_name(b) + "'"};
}

bool contains(const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      throw TemplateError{std::string("'in <string>' requires string as left operand, not ") + type_name(item)};
    }
    return find_in(container.str(), item.str(), 0) != std::string::npos;
  }
  if (container.is_dict()) return container.dict()->find(item) != nullptr;
  if (!container.is_list() && !container.is_undefined()) {
    throw TemplateError{std::string("'") + type_name(container) + "' object is not iterable"};
  }
  return container.is_list() && std::any_of(container.items().begin(), container.items().end(),
                                            [&](const Value& other) { return equal(other, item); });
}

// memmem is linear in both lengths, unlike std::string's search.
size_t find_in(std::string_view text, std::string_view part, size_t at) {
  if (at > text.size()) return std::string::npos;
  count_work(text.size() - at < part.size() ? 1 : part.size() + 1);
  const void* found = ::memmem(text.data() + at, text.size() - at, part.data(), part.size());
  const size_t end =
      found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  count_work(end - at);
  return found == nullptr ? std::string::npos : end;
}

size_t rfind_in(std::string_view text, std::string_view part, size_t at) {
  constexpr size_t kShort = 64, kBytesATick = 32;
  if (part.size() > kShort) count_work(text.size() / kBytesATick * part.size());
  const size_t found = text.rfind(part, at);
  count_work(std::min(at, text.size()) - (found == std::string::npos ? 0 : std::min(found, at)));
  return found;
}

std::vector<Value> iterate(const Value& value) {
  constexpr size_t kItemTicks = 16, kCharTicks = 128;  // per value
  if (value.is_undefined()) return {};
  if (value.is_list()) {
    count_work(value.items().size() * kItemTicks);
    return value.items();
  }
  std::vector<Value> items;
  if (value.is_dict() && !value.dict()->is_namespace) {
    for (const auto& item : value.dict()->items) items.push_back(item.first);
    return items;
  }
  if (value.is_string()) {
    const auto offsets = char_offsets(value.str());
    count_work(offsets.size() * kCharTicks);
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      items.emplace_back(value.text().substr(offsets[i], offsets[i + 1] - offsets[i]));
    }
    return items;
  }
  throw TemplateError{std::string("'") + type_name(value) + "' object is not iterable"};
}

size_t length(const Value& value) {
  if (value.is_string()) return char_offsets(value.str()).size() - 1;
  if (value.is_list()) return value.items().size();
  if (value.is_dict() && !value.dict()->is_namespace) return value.dict()->items.size();
  if (value.is_undefined()) return 0;
  throw TemplateError{std::string("object of type '") + type_name(value) + "' has no len()"};
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  // Python's repr: the shortest digits, with an exponent from 1e16 on and below 1e-4.
  const double magnitude = std::fabs(value);
  const bool scientific = magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 scientific ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Text to_text(const Value& value) {
  if (value.is_string()) {
    count_work(value.text().size());
    return value.text();
  }
  if (value.is_undefined()) return {};
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.as_bool() ? "True" : "False";
  if (value.is_int()) return Text(std::to_string(value.as_int()));
  if (value.is_float()) return Text(float_repr(value.as_double()));
  if (value.is_callable()) return Text("<" + value.callable()->name + ">");
  return repr_at(value, 0);
}

Text repr(const Value& value) {
  return repr_at(value, 0);
}

Text to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  Text text = writer.take();
  if (!style.ensure_ascii) return text;
  std::string ascii;
  const std::string& s = text.str();
  const auto offsets = char_offsets(s);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto lead = static_cast<unsigned char>(s[offsets[i]]);
    if (lead < 0x80) {
      ascii += s[offsets[i]];
      continue;
    }
    uint32_t code = lead >= 0xf0 ? lead & 7u : lead >= 0xe0 ? lead & 15u : lead & 31u;
    for (size_t at = offsets[i] + 1; at < offsets[i + 1]; ++at)
      code = (code << 6) | (static_cast<unsigned char>(s[at]) & 63u);
    char escape[16];
    if (code >= 0x10000) {
      std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
                    0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
    }
    ascii += escape;
  }
  return text.with_bytes(ascii);
}

std::vector<size_t> char_offsets(std::string_view utf8) {
  constexpr size_t kOffsetTicks = 4;
  count_work(utf8.size() * kOffsetTicks);
  std::vector<size_t> offsets;
  offsets.reserve(utf8.size() + 1);
  for (size_t i = 0; i < utf8.size(); ++i) {
    if ((static_cast<unsigned char>(utf8[i]) & 0xc0) != 0x80 || i == 0) offsets.push_back(i);
  }
  offsets.push_back(utf8.size());
  return offsets;
}

}  // namespace realizar::text::jinja
