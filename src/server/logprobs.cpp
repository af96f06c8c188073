#include "server/logprobs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace realizar::server {
namespace {

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

}  // namespace

size_t n_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

void append_chat_logprobs(std::span<const TokenInfo> tokens, Json& list) {
  for (const TokenInfo& token : tokens) {
    Json top = Json::array();
    for (const TokenInfo::Top& t : token.top) {
      top.push_back({{"token", t.bytes}, {"logprob", decimal(t.logprob)}, {"bytes", bytes_of(t.bytes)}});
    }
    list.push_back({{"token", token.bytes},
                    {"logprob", decimal(token.logprob)},
                    {"bytes", bytes_of(token.bytes)},
                    {"top_logprobs", std::move(top)}});
  }
}

Json chat_logprobs(std::span<const TokenInfo> tokens) {
  Json list = Json::array();
  append_chat_logprobs(tokens, list);
  return list;
}

Json token_probabilities(std::span<const TokenInfo> tokens, bool are_after_chain) {
  const auto told = [are_after_chain](const auto& token) -> Json {
    Json json{{"id", to_index(token.id)}, {"token", token.bytes}, {"bytes", bytes_of(token.bytes)}};
    if (are_after_chain) json["prob"] = decimal(std::exp(token.logprob));
    if (!are_after_chain) json["logprob"] = decimal(token.logprob);
    return json;
  };
  Json list = Json::array();
  for (const TokenInfo& token : tokens) {
    Json& json = list.emplace_back(told(token));
    Json& top = json[are_after_chain ? "top_probs" : "top_logprobs"] = Json::array();
    for (const TokenInfo::Top& t : token.top) top.push_back(told(t));
  }
  return list;
}

void append_unscored(const std::string& token, size_t& offset, Json& logprobs) {
  logprobs["tokens"].push_back(token);
  logprobs["token_logprobs"].push_back(nullptr);
  logprobs["top_logprobs"].push_back(nullptr);
  logprobs["text_offset"].push_back(offset);
  offset += n_characters(token);
}

void append_text_logprobs(const std::vector<TokenInfo>& tokens, size_t& offset, Json& logprobs) {
  for (const TokenInfo& token : tokens) {
    Json top = Json::object();
    for (const TokenInfo::Top& t : token.top) top[t.bytes] = decimal(t.logprob);
    logprobs["tokens"].push_back(token.bytes);
    logprobs["token_logprobs"].push_back(decimal(token.logprob));
    logprobs["top_logprobs"].push_back(std::move(top));
    logprobs["text_offset"].push_back(offset);
    offset += n_characters(token.bytes);
  }
}

}  // namespace realizar::server
