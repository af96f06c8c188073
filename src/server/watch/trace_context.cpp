#include "server/watch/trace_context.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/encodings.h"
#include "base/random_bytes.h"

namespace realizar::server {
namespace {

constexpr size_t kVersionEnd = 2, kTraceEnd = 35, kSpanEnd = 52, kFlagsEnd = 55;
constexpr uint8_t kSampled = 1;
constexpr size_t kMaxStateBytes = 512, kMaxStateMembers = 32;
constexpr size_t kMaxStatePartBytes = 256;  // of a key, and of a value

int lower_hex_digit(char c) {
  return c >= 'A' && c <= 'F' ? -1 : hex_digit(c);
}

// False if `text` is anything but n bytes in lower-case hexadecimal.
template <size_t n>
bool read_hex(std::string_view text, std::array<uint8_t, n>& bytes) {
  if (text.size() != 2 * n) return false;
  for (size_t i = 0; i < n; ++i) {
    const int high = lower_hex_digit(text[2 * i]), low = lower_hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<uint8_t>(16 * high + low);
  }
  return true;
}

template <size_t n>
std::array<uint8_t, n> random_id_bytes() {
  std::array<uint8_t, n> id{};
  while (id == std::array<uint8_t, n>{}) fill_randomly(std::as_writable_bytes(std::span(id)));
  return id;
}

bool is_state_key(std::string_view key) {
  const auto is_lower_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto may_stand = [&](char c) {
    return is_lower_or_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
  };
  return !key.empty() && key.size() <= kMaxStatePartBytes && is_lower_or_digit(key.front()) &&
         std::ranges::all_of(key, may_stand) && std::ranges::count(key, '@') <= 1;
}

bool is_state_value(std::string_view value) {
  const auto may_stand = [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; };
  return !value.empty() && value.size() <= kMaxStatePartBytes && value.back() != ' ' &&
         std::ranges::all_of(value, may_stand);
}

std::string_view without_spaces(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view text) {
  if (text.size() < kFlagsEnd || text[kVersionEnd] != '-' || text[kTraceEnd] != '-' || text[kSpanEnd] != '-') {
    return std::nullopt;
  }
  std::array<uint8_t, 1> version{}, flags{};
  TraceContext context;
  const bool is_hex = read_hex(text.substr(0, kVersionEnd), version) &&
                      read_hex(text.substr(kVersionEnd + 1, 2 * context.trace_id.size()), context.trace_id) &&
                      read_hex(text.substr(kTraceEnd + 1, 2 * context.span_id.size()), context.span_id) &&
                      read_hex(text.substr(kSpanEnd + 1, 2), flags);
  const std::string_view rest = text.substr(kFlagsEnd);
  const bool is_end = rest.empty() || (version[0] > 0 && rest.front() == '-');
  const bool is_whole =
      is_hex && is_end && version[0] != 0xff && context.trace_id != TraceId{} && context.span_id != SpanId{};
  if (!is_whole) return std::nullopt;
  context.is_sampled = (flags[0] & kSampled) != 0;
  return context;
}

bool is_tracestate(std::string_view text) {
  if (text.size() > kMaxStateBytes) return false;
  std::vector<std::string_view> keys;
  while (true) {
    const std::string_view member = without_spaces(text.substr(0, text.find(',')));
    const size_t equals = member.find('=');
    // Members may be empty, so that lists can be joined.
    if (!member.empty()) {
      if (equals == std::string_view::npos) return false;
      const std::string_view key = member.substr(0, equals);
      const bool is_good = is_state_key(key) && is_state_value(member.substr(equals + 1));
      if (!is_good || keys.size() == kMaxStateMembers || std::ranges::find(keys, key) != keys.end()) return false;
      keys.push_back(key);
    }
    if (text.find(',') == std::string_view::npos) return !keys.empty();
    text.remove_prefix(text.find(',') + 1);
  }
}

std::string to_traceparent(const TraceContext& context) {
  return "00-" + hex_of(context.trace_id) + "-" + hex_of(context.span_id) + (context.is_sampled ? "-01" : "-00");
}

ServerSpan begin_span(std::string_view traceparent, std::string_view tracestate) {
  ServerSpan span;
  if (const auto caller = parse_traceparent(traceparent)) {
    span.context = *caller;
    span.parent = caller->span_id;
    if (is_tracestate(tracestate)) span.state = tracestate;
  } else {
    span.context.trace_id = random_id_bytes<sizeof(TraceId)>();
    span.context.is_sampled = true;
  }
  span.context.span_id = random_span_id();
  return span;
}

SpanId random_span_id() {
  return random_id_bytes<sizeof(SpanId)>();
}

}  // namespace realizar::server
