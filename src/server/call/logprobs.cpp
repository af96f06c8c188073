#include "server/call/logprobs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/tokenizer/tokenizer.h"

namespace realizar::server {
namespace {

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

// The lists of a completion's log-probabilities, one item of each at a time.
struct TextLogprobs {
  const std::optional<std::string>& unscored;
  const TokenLog& log;
  const TokenText& text;

  size_t size() const { return log.size() + (unscored ? 1 : 0); }
  bool is_unscored(size_t i) const { return unscored && i == 0; }
  TokenLog::Token at(size_t i) const { return log[i - (unscored ? 1 : 0)]; }
  std::string token(size_t i) const { return is_unscored(i) ? *unscored : text(at(i).id); }
  Json logprob(size_t i) const { return is_unscored(i) ? Json() : Json(decimal(at(i).logprob)); }
  Json top(size_t i) const {
    if (is_unscored(i)) return {};
    Json top = Json::object();
    for (const TokenLogprob& t : at(i).top) top[text(t.id)] = decimal(t.logprob);
    return top;
  }
};

}  // namespace

TokenText token_text(const text::Tokenizer& tokenizer) {
  return [&tokenizer](TokenId id) { return tokenizer.token_bytes(id, {.skip_special = false}); };
}

void TokenLog::add(TokenId id, float logprob, std::span<const TokenLogprob> top) {
  tops_.insert(tops_.end(), top.begin(), top.end());
  entries_.push_back({id, logprob, tops_.size()});
}

void TokenLog::append(const TokenLog& more) {
  for (size_t i = 0; i < more.size(); ++i) {
    const Token token = more[i];
    add(token.id, token.logprob, token.top);
  }
}

TokenLog::Token TokenLog::operator[](size_t i) const {
  const size_t begin = i == 0 ? 0 : entries_[i - 1].tops_end;
  const Entry& entry = entries_[i];
  return {entry.id, entry.logprob, std::span(tops_).subspan(begin, entry.tops_end - begin)};
}

size_t n_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

Json ChatLogprob::operator()(const TokenLog::Token& token) const {
  const auto told = [this](TokenId id, float logprob) -> Json {
    std::string bytes = text(id);
    Json list = bytes_of(bytes);
    return {{"token", std::move(bytes)}, {"logprob", decimal(logprob)}, {"bytes", std::move(list)}};
  };
  Json json = told(token.id, token.logprob);
  Json& top = json["top_logprobs"] = Json::array();
  for (const TokenLogprob& t : token.top) top.push_back(told(t.id, t.logprob));
  return json;
}

Json TokenProbability::operator()(const TokenLog::Token& token) const {
  const auto told = [this](TokenId id, float logprob) -> Json {
    std::string bytes = text(id);
    Json list = bytes_of(bytes);
    Json json{{"id", to_index(id)}, {"token", std::move(bytes)}, {"bytes", std::move(list)}};
    if (is_after_chain) json["prob"] = decimal(std::exp(logprob));
    if (!is_after_chain) json["logprob"] = decimal(logprob);
    return json;
  };
  Json json = told(token.id, token.logprob);
  Json& top = json[is_after_chain ? "top_probs" : "top_logprobs"] = Json::array();
  for (const TokenLogprob& t : token.top) top.push_back(told(t.id, t.logprob));
  return json;
}

Json spelled_id(const TokenLog::Token& token) {
  return to_index(token.id);
}

Json text_logprobs(const std::optional<std::string>& unscored, const TokenLog& log, const TokenText& text,
                   size_t& offset) {
  const TextLogprobs lists{unscored, log, text};
  Json json{{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
  for (size_t i = 0; i < lists.size(); ++i) {
    std::string token = lists.token(i);
    json["text_offset"].push_back(offset);
    offset += n_characters(token);
    json["tokens"].push_back(std::move(token));
    json["token_logprobs"].push_back(lists.logprob(i));
    json["top_logprobs"].push_back(lists.top(i));
  }
  return json;
}

Json text_logprobs(const std::optional<std::string>& unscored, const TokenLog& log, const TokenText& text,
                   size_t offset, JsonPieces& pieces) {
  const TextLogprobs lists{unscored, log, text};
  const size_t n = lists.size();
  return {{"tokens", pieces.list(n, [lists](size_t i) -> Json { return lists.token(i); })},
          {"token_logprobs", pieces.list(n, [lists](size_t i) { return lists.logprob(i); })},
          {"top_logprobs", pieces.list(n, [lists](size_t i) { return lists.top(i); })},
          {"text_offset", pieces.list(n, [lists, offset](size_t i) mutable -> Json {
             return std::exchange(offset, offset + n_characters(lists.token(i)));
           })}};
}

}  // namespace realizar::server
