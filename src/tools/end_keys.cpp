#include "tools/end_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace realizar
