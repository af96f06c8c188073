// The parts of Python's %-formatting, str.format and strftime that templates use.
#include <cstdio>
#include <ctime>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

constexpr int kMaxWidth = 1000;

struct Spec {
  std::string flags;
  int width = 0, precision = -1;
};

int number_at(const std::string& s, size_t& i) {
  int n = 0;
  while (i < s.size() && s[i] >= '0' && s[i] <= '9') {
    n = n * 10 + (s[i++] - '0');
    if (n > kMaxWidth) fail("a format's width is larger than 1000");
  }
  return n;
}

Text padded(Text text, int width, bool left) {
  const auto n_chars = static_cast<int>(char_offsets(text.str()).size()) - 1;
  if (n_chars >= width) return text;
  Text blanks(std::string(static_cast<size_t>(width - n_chars), ' '));
  Text& first = left ? text : blanks;
  first.append(left ? blanks : text);
  return first;
}

Text formatted(const Spec& spec, char conversion, const Value& value) {
  if (conversion == 's' || conversion == 'r') {
    Text text = conversion == 's' ? to_text(value) : repr(value);
    if (spec.precision >= 0) {
      const auto offsets = char_offsets(text.str());
      const size_t n = std::min(offsets.size() - 1, static_cast<size_t>(spec.precision));
      text = text.substr(0, offsets[n]);
    }
    return padded(std::move(text), spec.width, spec.flags.find('-') != std::string::npos);
  }
  if (!value.is_number())
    fail(std::string("%") + conversion + " format: a number is required, not " + type_name(value));
  const std::string prefix = "%" + spec.flags + (spec.width > 0 ? std::to_string(spec.width) : "") +
                             (spec.precision >= 0 ? "." + std::to_string(spec.precision) : "");
  char buffer[2048];
  if (std::string_view("di").find(conversion) != std::string_view::npos) {
    const auto whole =
        value.is_float() ? static_cast<long long>(value.as_double()) : static_cast<long long>(value.as_int());
    std::snprintf(buffer, sizeof buffer, (prefix + "lld").c_str(), whole);
  } else if (std::string_view("xXo").find(conversion) != std::string_view::npos) {
    std::snprintf(buffer, sizeof buffer, (prefix + "ll" + conversion).c_str(), static_cast<long long>(value.as_int()));
  } else if (std::string_view("feEgGF").find(conversion) != std::string_view::npos) {
    std::snprintf(buffer, sizeof buffer, (prefix + conversion).c_str(), value.as_double());
  } else {
    fail(std::string("unsupported format character '") + conversion + "'");
  }
  return Text(buffer);
}

}  // namespace

Text percent_format(const Text& format, const Value& args) {
  const std::string& s = format.str();
  const bool is_tuple = args.is_list() && args.list()->is_tuple;
  size_t n_used = 0;
  const auto next = [&]() -> Value {
    const size_t n = is_tuple ? args.items().size() : 1;
    if (n_used >= n) fail("not enough arguments for format string");
    return is_tuple ? args.items()[n_used++] : (++n_used, args);
  };
  Text out;
  size_t i = 0;
  while (i < s.size()) {
    const size_t percent = s.find('%', i);
    out.append(format.substr(i, percent == std::string::npos ? percent : percent - i));
    if (percent == std::string::npos) break;
    i = percent + 1;
    std::string key;
    bool has_key = false;
    if (i < s.size() && s[i] == '(') {
      const size_t close = s.find(')', i);
      if (close == std::string::npos) fail("incomplete format key");
      key = s.substr(i + 1, close - i - 1);
      has_key = true;
      i = close + 1;
    }
    Spec spec;
    while (i < s.size() && std::string_view("-+ 0#").find(s[i]) != std::string_view::npos) spec.flags += s[i++];
    if (spec.flags.size() > 8) fail("too many flags in a format");
    spec.width = number_at(s, i);
    if (i < s.size() && s[i] == '.') {
      ++i;
      spec.precision = number_at(s, i);
    }
    if (i >= s.size()) fail("incomplete format");
    const char conversion = s[i++];
    if (conversion == '%') {
      out.append("%");
      continue;
    }
    if (has_key) {
      const Value* found = args.is_dict() ? args.dict()->find(std::string_view(key)) : nullptr;
      if (found == nullptr) fail("format requires a mapping with '" + key + "'");
      out.append(formatted(spec, conversion, *found));
    } else {
      out.append(formatted(spec, conversion, next()));
    }
  }
  if (is_tuple && n_used < args.items().size()) fail("not all arguments converted during string formatting");
  return out;
}

Text brace_format(const Text& format, Args& args) {
  const std::string& s = format.str();
  Text out;
  size_t n_automatic = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool is_doubled = i + 1 < s.size() && s[i + 1] == s[i];
    if ((s[i] == '{' || s[i] == '}') && is_doubled) {
      out.append(format.substr(i++, 1));
      continue;
    }
    if (s[i] != '{') {
      out.append(format.substr(i, 1));
      continue;
    }
    const size_t close = s.find('}', i);
    if (close == std::string::npos) fail("expected '}' before end of string");
    std::string field = s.substr(i + 1, close - i - 1), spec_text;
    if (const size_t colon = field.find(':'); colon != std::string::npos) {
      spec_text = field.substr(colon + 1);
      field.resize(colon);
    }
    const bool is_index =
        !field.empty() && field.find_first_not_of("0123456789") == std::string::npos && field.size() < 9;
    const Value* value = field.empty() ? args.get(n_automatic++, "")
                         : is_index    ? args.get(std::stoul(field), "")
                                       : args.get(~size_t{0}, field);
    if (value == nullptr) fail("no argument for '{" + field + "}'");
    if (spec_text.empty()) {
      out.append(to_text(*value));
    } else {
      // A number's format specification is interpreted like that of %, if it has only width, precision and type.
      Spec spec;
      size_t at = 0;
      while (at < spec_text.size() && std::string_view("+ 0").find(spec_text[at]) != std::string_view::npos)
        spec.flags += spec_text[at++];
      spec.width = number_at(spec_text, at);
      if (at < spec_text.size() && spec_text[at] == '.') spec.precision = number_at(spec_text, ++at);
      if (at + 1 < spec_text.size() || spec.flags.size() > 8)
        fail("unsupported format specification '" + spec_text + "'");
      const char conversion = at < spec_text.size() ? spec_text[at]
                              : value->is_string()  ? 's'
                              : value->is_float()   ? 'g'
                                                    : 'd';
      if (conversion == 's') spec.flags = "-";
      out.append(formatted(spec, conversion, *value));
    }
    i = close;
  }
  return out;
}

std::string format_time(const std::string& format, int64_t unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  if (format.empty()) return {};
  if (format.size() > kMaxWidth) fail("a time format is longer than 1000 characters");
  std::string out(format.size() * 40 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &fields));
  return out;
}

}  // namespace realizar::text::jinja
