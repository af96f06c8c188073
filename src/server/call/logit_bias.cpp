#include "server/call/logit_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxBiases = 4096;
constexpr const char* kField = "logit_bias";

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

Result<TokenId> id_in(const std::string& text) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size() && id >= 0) return TokenId{id};
  return wrong(kField, fmt::format("expected token ids, actual '{}'", shown(text)));
}

// The ids that are meant by a number, or by a text.
Result<std::vector<TokenId>> biased_ids(const Json& key, bool text_may_be_id, const ServedModel& model) {
  if (const auto id = token_id_of(key)) return std::vector{TokenId{*id}};
  if (!key.is_string()) return wrong(kField, "expected token ids or texts to be biased");
  const auto& text = key.get_ref<const std::string&>();
  if (text_may_be_id && is_whole_number(text)) {
    RZ_TRY(const TokenId id, id_in(text));
    return std::vector{id};
  }
  if (text.size() > max_text_bytes(model)) return wrong(kField, "a text is too long");
  return model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
}

Status add_bias(const Json& key, bool text_may_be_id, const Json& value, const ServedModel& model, LogitBias& bias) {
  RZ_TRY(const auto ids, biased_ids(key, text_may_be_id, model));
  const bool is_never = value.is_boolean() && !value.get<bool>();
  const bool is_bias = value.is_number() && value.get<double>() >= -100 && value.get<double>() <= 100;
  if (!is_never && !is_bias) {
    return wrong(kField, fmt::format("expected numbers from -100 to 100 or false, actual {}", shown(dump(value))));
  }
  for (const TokenId id : ids) {
    if (is_never) bias.never.push_back(id);
    if (is_bias) bias.added.emplace_back(id, value.get<float>());
  }
  return {};
}

}  // namespace

Result<LogitBias> read_logit_bias(const Json& given, const ServedModel& model) {
  LogitBias bias;
  if (!given.is_object() && !given.is_array()) return wrong(kField, "expected an object or an array of pairs");
  if (given.size() > kMaxBiases) return wrong(kField, fmt::format("expected at most {} biases", kMaxBiases));
  if (given.is_object()) {
    for (const auto& [key, value] : given.items()) RZ_CHECK_OK(add_bias(key, true, value, model, bias));
    return bias;
  }
  for (const Json& pair : given) {
    if (!pair.is_array() || pair.size() != 2) return wrong(kField, "expected pairs of a token and its bias");
    RZ_CHECK_OK(add_bias(pair[0], false, pair[1], model, bias));
  }
  return bias;
}

}  // namespace realizar::server
