#include "cli/parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/try.h"
#include "base/utf8.h"
#include "cli/foreign_words.h"

namespace realizar::cli {
namespace {

bool is_negative_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '.' || (word[1] >= '0' && word[1] <= '9'));
}

bool is_option_word(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !is_negative_number(word);
}

class Collector {
 public:
  Collector(CommandRow& command, CommandRow& common, std::span<const std::string> words)
      : command_(command), common_(common), words_(words) {}

  Result<std::vector<std::string>> collect() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--" && !only_positionals_) {
        only_positionals_ = true;
      } else if (only_positionals_ || !is_option_word(word)) {
        positionals_.emplace_back(after_byte_order_mark(word));
      } else {
        RZ_CHECK_OK(take_option(word));
      }
    }
    RZ_CHECK_OK(place_positionals());
    return std::move(notes_);
  }

 private:
  OptionRow* find(std::string_view name) {
    OptionRow* row = command_.find(name);
    return row != nullptr ? row : common_.find(name);
  }

  Status take_option(const std::string& word) {
    const size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    std::optional<std::string> attached;
    if (sign != std::string::npos) attached = word.substr(sign + 1);
    if (OptionRow* row = find(name)) return take_value(*row, name, attached);
    if (const auto foreign = find_foreign_word(name, CalledAs::kRealizar))
      return take_foreign(*foreign, name, attached);
    // "-t4": only digits, since "-model" is a typo and not -m with "odel".
    OptionRow* row = find(word.substr(0, 2));
    const bool has_number = row != nullptr && !row->is_flag() && word[1] != '-' && word[2] >= '0' && word[2] <= '9';
    if (has_number) return take_value(*row, word.substr(0, 2), word.substr(2));
    return unknown(name);
  }

  Status take_value(OptionRow& row, const std::string& name, const std::optional<std::string>& attached) {
    if (row.is_flag()) return give(row, attached.value_or("true"));
    if (attached) return give(row, *attached);
    if (at_ == words_.size()) return invalid_argument(fmt::format("{} needs a value: {} {}", name, name, row.value));
    const std::string& next = words_[at_];
    if (is_option_word(next) && find(next) != nullptr) {
      return invalid_argument(
          fmt::format("{0} needs a value, and {1} is an option; {0}={1} if it is meant as the value", name, next));
    }
    ++at_;
    return give(row, next);
  }

  // The value may begin with a byte order mark if a shell has read it from a file: "$(cat prompt.txt)".
  static Status give(OptionRow& row, const std::string& value) {
    const std::string text(after_byte_order_mark(value));
    const bool is_again = !row.given.empty() && !row.is_list;
    if (is_again && row.given.front() != text) {
      return invalid_argument(
          fmt::format("{} is given twice, as {} and as {}", row.main_name(), row.given.front(), text));
    }
    if (!is_again) row.given.push_back(text);
    return {};
  }

  Status take_foreign(const ForeignWord& foreign, const std::string& name, const std::optional<std::string>& attached) {
    if (foreign.kind == ForeignKind::kRefused) return invalid_argument(fmt::format("{}: {}", name, foreign.text));
    if (foreign.kind == ForeignKind::kRenamed) {
      const std::string here(foreign.text);
      if (OptionRow* row = find(here)) return take_value(*row, name, attached);
      const auto known = find_foreign_word(here, CalledAs::kRealizar);
      return known ? take_foreign(*known, here, attached) : unknown(name);
    }
    notes_.push_back(fmt::format("{} {}", name, foreign.text));
    if (!attached && at_ < words_.size() && may_follow(foreign, words_[at_])) ++at_;
    return {};
  }

  static bool may_follow(const ForeignWord& noted, std::string_view word) {
    const std::string values = fmt::format("|{}|", noted.values);
    return noted.has_value || (!noted.values.empty() && values.find(fmt::format("|{}|", word)) != std::string::npos);
  }

  Status unknown(const std::string& name) const {
    std::vector<std::string> known;
    for (const CommandRow* command : {&command_, &common_}) {
      for (const OptionRow& row : command->options) {
        std::copy_if(row.names.begin(), row.names.end(), std::back_inserter(known),
                     [](const std::string& other) { return other.starts_with('-'); });
      }
    }
    // Any letter is one typo away from any other.
    if (name.size() == 2) return invalid_argument(fmt::format("there is no option {}", name));
    const bool lacks_a_dash = name.size() > 2 && name[1] != '-' && closest("-" + name, known) == "-" + name;
    return invalid_argument(
        fmt::format("there is no option {}{}", name, did_you_mean(lacks_a_dash ? "-" + name : name, known)));
  }

  Status place_positionals() {
    std::vector<std::string> places;
    auto word = positionals_.begin();
    for (OptionRow& row : command_.options) {
      if (row.positional_name().empty()) continue;
      places.push_back(row.value);
      while (word != positionals_.end() && row.given.size() < row.max_values) row.given.push_back(*word++);
    }
    if (word == positionals_.end()) return {};
    if (places.empty()) return invalid_argument(fmt::format("'{}' is one word too many", *word));
    return invalid_argument(fmt::format("'{}' is one word too many: expected {} (quote a text of several words)", *word,
                                        fmt::join(places, " ")));
  }

  CommandRow& command_;
  CommandRow& common_;
  std::span<const std::string> words_;
  size_t at_ = 0;
  bool only_positionals_ = false;
  std::vector<std::string> positionals_, notes_;
};

std::string range_text(const NumberRange& range) {
  if (std::isinf(range.max))
    return fmt::format("must be {}{}{}", range.above ? "above " : "", range.min, range.above ? "" : " or more");
  if (range.above) return fmt::format("must be above {} and at most {}", range.min, range.max);
  return fmt::format("must be from {} to {}", range.min, range.max);
}

bool is_outside(const NumberRange& range, double number) {
  return number > range.max || (range.above ? number <= range.min : number < range.min);
}

// The problem with one value of the option; empty: none, and it was read.
std::string complaint_of(OptionRow& row, const std::string& text) {
  if (!row.words.empty() && std::find(row.words.begin(), row.words.end(), text) == row.words.end()) {
    return fmt::format("must be one of {}{}", fmt::join(row.words, ", "), did_you_mean(text, row.words));
  }
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && at == text.data() + text.size();
  if (row.range && is_number && is_outside(*row.range, number)) return range_text(*row.range);
  return row.read(text);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end = 0; separator != 0 && (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Status read_given(OptionRow& row) {
  if (row.given.empty()) return {};
  if (row.given.size() > row.max_values) {
    return invalid_argument(
        fmt::format("{}: expected at most {} values, actual {}", row.main_name(), row.max_values, row.given.size()));
  }
  if (row.clear) row.clear();
  for (const std::string& text : row.given) {
    const auto parts = split(text, row.separator);
    for (const std::string& part : parts) {
      const std::string complaint = complaint_of(row, part);
      if (complaint.empty()) continue;
      const std::string which = parts.size() > 1 ? fmt::format("'{}' ", part) : "";
      return invalid_argument(
          fmt::format("{} {}: {}{}", row.main_name(), text.empty() ? "''" : text, which, complaint));
    }
  }
  return {};
}

std::string config_name(const OptionRow& row) {
  const std::string& name = row.main_name();
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string quoted_where_needed(const std::string& value) {
  const bool is_plain = !value.empty() && value[0] != '"' && trimmed(value) == value &&
                        std::none_of(value.begin(), value.end(), [](char c) { return c == '\n' || c == '\r'; });
  return is_plain ? value : nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::string> unquoted(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  const auto json = nlohmann::json::parse(value, nullptr, false);
  if (!json.is_string()) return invalid_argument("the quotes do not hold a JSON string");
  return json.get<std::string>();
}

OptionRow* find_named(CommandRow& command, std::string_view name) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const OptionRow& row) { return config_name(row) == name; });
  return found == command.options.end() ? nullptr : &*found;
}

std::vector<std::string> all_names(const CommandRow& command) {
  std::vector<std::string> names;
  for (const OptionRow& row : command.options) names.push_back(config_name(row));
  return names;
}

// `from_file`: the options set by the file so far.
Status read_line(CommandRow& command, std::string_view line, std::set<OptionRow*>& from_file) {
  const size_t sign = line.find('=');
  if (sign == std::string_view::npos) return invalid_argument("expected NAME = VALUE");
  const std::string name(trimmed(line.substr(0, sign)));
  OptionRow* row = find_named(command, name);
  if (row == nullptr) {
    return invalid_argument(
        fmt::format("{} has no option '{}'{}", command.name, printable(name), did_you_mean(name, all_names(command))));
  }
  RZ_TRY(std::string value, unquoted(trimmed(line.substr(sign + 1))));
  const bool is_again = from_file.contains(row);
  if (is_again && !row->is_list) return invalid_argument(fmt::format("'{}' is given twice", name));
  if (!is_again && !row->given.empty()) return {};
  from_file.insert(row);
  row->given.push_back(std::move(value));
  return {};
}

}  // namespace

Result<std::vector<std::string>> collect_words(CommandRow& command, CommandRow& common,
                                               std::span<const std::string> words) {
  return Collector(command, common, words).collect();
}

Status apply_values(CommandRow& command, CommandRow& common) {
  for (CommandRow* rows : {&common, &command}) {
    for (OptionRow& row : rows->options) RZ_CHECK_OK(read_given(row));
  }
  for (const OptionRow& row : command.options) {
    if (row.is_required && row.given.empty()) {
      const bool is_word = !row.positional_name().empty();
      return invalid_argument(is_word ? fmt::format("{} is missing", row.value)
                                      : fmt::format("{} {} is missing", row.main_name(), row.value));
    }
  }
  const std::string complaint = command.complaint ? command.complaint() : "";
  return complaint.empty() ? Status{} : Status{invalid_argument(complaint)};
}

std::string config_text(const CommandRow& command) {
  std::string text = fmt::format("# Options of realizar {0}; realizar {0} --config FILE reads them.\n", command.name);
  for (const OptionRow& row : command.options) {
    const auto values = row.values();
    if (values.empty()) {
      text += fmt::format("# {} =\n", config_name(row));
    } else if (row.separator != 0) {
      text += fmt::format("{} = {}\n", config_name(row), fmt::join(values, std::string(1, row.separator)));
    } else {
      for (const auto& value : values) text += fmt::format("{} = {}\n", config_name(row), quoted_where_needed(value));
    }
  }
  return text;
}

Status read_config(CommandRow& command, std::string_view text, std::string_view where) {
  std::set<OptionRow*> from_file;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (const Status status = read_line(command, line, from_file); !status.ok()) {
      return invalid_argument(fmt::format("{}:{}: {}", where, line_number, status.error().message));
    }
  }
  return {};
}

}  // namespace realizar::cli
