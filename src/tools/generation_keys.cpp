#include "tools/generation_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "base/try.h"

namespace realizar {
namespace {

std::vector<uint32_t> ids_of(const text::EndTokens& ends) {
  std::vector<uint32_t> ids;
  for (const text::EndToken& end : ends.ends()) ids.push_back(static_cast<uint32_t>(to_index(end.id)));
  return ids;
}

bool has(const std::vector<uint32_t>& ids, std::optional<uint32_t> id) {
  return id && std::ranges::find(ids, *id) != ids.end();
}

std::string names_of(const std::vector<uint32_t>& ids, const std::vector<std::string>& tokens) {
  std::vector<std::string> names;
  for (const uint32_t id : ids) names.push_back(id < tokens.size() ? shown(tokens[id]) : std::to_string(id));
  return fmt::format("{}", fmt::join(names, ", "));
}

// The tokens at which a reader of the file's single-token keys stops, without our own lists.
Result<std::vector<uint32_t>> ends_of_keys(const FolderVocab& vocab) {
  RZ_TRY(const text::Tokenizer tokenizer, text::Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  EndClaims claims;
  for (const auto& id : {vocab.eos, vocab.eot, vocab.eom}) {
    if (id) claims.claims.push_back({int64_t{*id}, ""});
  }
  return ids_of(text::EndTokens::united(tokenizer, claims.claims));
}

void note_own_keys(const FolderVocab& vocab, const std::vector<uint32_t>& missing, std::vector<std::string>& notes) {
  if (!missing.empty()) {
    notes.push_back(fmt::format("{} end answers too: they are in {}, which other programs may not read",
                                names_of(missing, vocab.tokens), kEndIdsKey));
  }
  if (!vocab.no_end_ids.empty()) {
    notes.push_back(fmt::format("{} end no answer: they are in {}, which other programs may not read",
                                names_of(vocab.no_end_ids, vocab.tokens), kNoEndIdsKey));
  }
}

using Json = nlohmann::ordered_json;

constexpr std::string_view kSamplingPrefix = "general.sampling.";

struct SamplingKey {
  const char* gguf;
  const char* hf;
  bool is_whole;
};

// transformers supports the first five. llama.cpp's converter reads the others from the same file.
constexpr SamplingKey kSamplingKeys[] = {{"temp", "temperature", false},
                                         {"top_k", "top_k", true},
                                         {"top_p", "top_p", false},
                                         {"min_p", "min_p", false},
                                         {"penalty_repeat", "repetition_penalty", false},
                                         {"penalty_last_n", "penalty_last_n", true},
                                         {"xtc_probability", "xtc_probability", false},
                                         {"xtc_threshold", "xtc_threshold", false},
                                         {"mirostat", "mirostat", true},
                                         {"mirostat_tau", "mirostat_tau", false},
                                         {"mirostat_eta", "mirostat_eta", false}};

std::string gguf_key(std::string_view name) {
  return std::string(kSamplingPrefix) + std::string(name);
}

void add_recommended(const SamplingKey& key, const Json& value, GgufKeys& keys) {
  if (!value.is_number()) return;
  const auto number = value.get<double>();
  if (!key.is_whole) return keys.set(gguf_key(key.gguf), static_cast<float>(number));
  if (number == std::trunc(number) && std::abs(number) <= INT32_MAX) {
    keys.set(gguf_key(key.gguf), static_cast<int32_t>(number));
  }
}

// The shortest decimal number that rounds to the F32 number.
double shortest(double value) {
  const double rounded = std::round(value * 1e6) / 1e6;
  return static_cast<float>(rounded) == static_cast<float>(value) ? rounded : value;
}

}  // namespace

std::vector<uint32_t> without(const std::vector<uint32_t>& ids, const std::vector<uint32_t>& others) {
  std::vector<uint32_t> rest;
  std::ranges::copy_if(ids, std::back_inserter(rest), [&](uint32_t id) { return !has(others, id); });
  return rest;
}

Result<std::vector<uint32_t>> changed_ends(const text::Tokenizer& tokenizer, const EndClaims& claims,
                                           const EndSettings& changes, std::vector<std::string>& notes) {
  text::EndTokens ends = text::EndTokens::united(tokenizer, claims.claims);
  for (const std::string& piece : changes.ends) RZ_CHECK_OK(ends.add(piece, "--end"));
  for (const std::string& piece : changes.no_ends) RZ_CHECK_OK(ends.remove(piece, "--no-end"));
  notes.insert(notes.end(), claims.notes.begin(), claims.notes.end());
  notes.insert(notes.end(), ends.notes().begin(), ends.notes().end());
  return ids_of(ends);
}

Status put_ends(const std::vector<uint32_t>& ends, FolderVocab& vocab) {
  const bool is_suffix = vocab.add_eos.value_or(false);
  if (!is_suffix && !has(ends, vocab.eos) && !ends.empty()) vocab.eos = ends.front();
  if (vocab.eot && !has(ends, vocab.eot)) vocab.eot.reset();
  RZ_TRY(auto made, ends_of_keys(vocab));
  std::vector<uint32_t> missing = without(ends, made);
  for (auto* place : {&vocab.eot, &vocab.eom}) {
    if (*place || missing.empty()) continue;
    *place = missing.front();
    missing.erase(missing.begin());
  }
  RZ_TRY(made, ends_of_keys(vocab));
  if (!missing.empty()) vocab.end_ids = ends;
  vocab.no_end_ids = without(made, ends);
  note_own_keys(vocab, missing, vocab.notes);
  return {};
}

Result<ChangedEndKeys> changed_end_keys(const ModelFile& gguf, const EndSettings& changes) {
  RZ_TRY(FolderVocab vocab, read_file_vocab(gguf.metadata()));
  RZ_TRY(const text::Tokenizer tokenizer, text::Tokenizer::from_gguf(as_gguf_vocab(vocab)));
  ChangedEndKeys keys;
  RZ_TRY(keys.ends, changed_ends(tokenizer, gguf_end_claims(gguf.metadata()), changes, keys.notes));
  RZ_TRY(const auto made, ends_of_keys(vocab));
  vocab.no_end_ids = keys.no_ends = without(made, keys.ends);
  note_own_keys(vocab, without(keys.ends, made), keys.notes);
  return keys;
}

bool is_sampling_key(std::string_view key) {
  return key.starts_with(kSamplingPrefix);
}

Status add_sampling_keys(const std::string& generation_config, GgufKeys& keys) {
  constexpr const char* kName = "generation_config.json";
  const Json json = Json::parse(generation_config, nullptr, false);
  if (!json.is_object()) return format_error(std::string(kName) + ": expected a JSON object", kName);
  // Without do_sample the likeliest token is taken, and the other settings have no effect.
  if (const auto sample = json.find("do_sample"); sample != json.end() && *sample == false) {
    keys.set(gguf_key("temp"), 0.0f);
    return {};
  }
  if (const auto order = json.find("sequence"); order != json.end() && order->is_string()) {
    keys.set(gguf_key("sequence"), order->get<std::string>());
  }
  for (const SamplingKey& key : kSamplingKeys) {
    if (const auto found = json.find(key.hf); found != json.end()) add_recommended(key, *found, keys);
  }
  return {};
}

void add_recommended_sampling(const Metadata& gguf, Json& json) {
  const size_t n_before = json.size();
  for (const SamplingKey& key : kSamplingKeys) {
    const auto value = gguf.get_double(gguf_key(key.gguf));
    if (!value.ok() || !*value) continue;
    if (key.is_whole) {
      json[key.hf] = static_cast<int64_t>(**value);
    } else {
      json[key.hf] = shortest(**value);
    }
  }
  if (const auto order = gguf.get_string(gguf_key("sequence")); order.ok() && *order) json["sequence"] = **order;
  if (json.size() > n_before) json["do_sample"] = json.value("temperature", 1.0) > 0;
}

}  // namespace realizar
