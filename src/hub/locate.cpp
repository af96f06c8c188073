#include "hub/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "hub/gguf_choice.h"
#include "hub/name_table.h"

namespace realizar::hub {
namespace {

constexpr size_t kMaxNameBytes = 200, kMaxNames = 3;
constexpr size_t kMinSlipBytes = 3;  // any shorter word would be one typo away from many
constexpr size_t kFar = 1000;

// The edit distance to the whole spelling.
size_t whole_distance(std::string_view given, std::string_view spelling) {
  const size_t most = given.size() < kMinSlipBytes ? 0 : std::clamp<size_t>(given.size() / 3, 1, 3);
  const size_t distance = edit_distance(given, spelling);
  // If every letter would change, the word is not a typo.
  return distance <= most && distance < spelling.size() ? distance : kFar;
}

// The edit distance to the beginning of the spelling: "lama3" is close to the beginning of "llama3.2".
size_t beginning_distance(std::string_view given, std::string_view spelling) {
  const size_t most = std::min<size_t>(2, given.size() / 4);
  size_t best = kFar;
  for (size_t n = given.size() - most; n <= std::min(given.size() + most, spelling.size()); ++n) {
    best = std::min(best, edit_distance(given, spelling.substr(0, n)));
  }
  return best <= most ? best : kFar;
}

bool is_path_like(const std::string& word) {
  constexpr std::array<std::string_view, 3> kBeginnings = {"/", ".", "~/"};
  constexpr std::array<std::string_view, 2> kEndings = {".gguf", ".safetensors"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return word.starts_with(beginning); }) ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return ends_with_ignoring_case(word, ending); });
}

// "a, b and c"
std::string listed(const std::vector<std::string>& words, std::string_view last_word) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view between = i == 0 ? "" : i + 1 < words.size() ? ", " : last_word;
    text += fmt::format("{}{}", between, shown(words[i]));
  }
  return text;
}

// Every way to write the name of a model on this machine.
void add_spellings(const ModelName& name, std::vector<KnownName>& known) {
  const std::string text = to_string(name);
  known.push_back({text, text});
  if (name.kind != NameKind::kHuggingFace && name.kind != NameKind::kOllama) return;
  const std::string own = text.substr(text.find(':') + 1);
  known.push_back({own, text});
  if (const size_t slash = own.find('/'); slash != std::string::npos) known.push_back({own.substr(slash + 1), text});
}

std::vector<KnownName> names_here(const Library& library) {
  std::vector<KnownName> known;
  std::vector<std::string> notes;
  for (const LocalModel& model : library.list(notes)) add_spellings(model.name, known);
  return known;
}

// The models of the table, with tags if one was given.
void add_table(bool has_tag, std::vector<KnownName>& known) {
  for (const ShortName& row : short_names()) {
    const std::string tagged = fmt::format("{}:{}", row.model, row.tag), model(row.model);
    known.push_back({model, model});
    if (has_tag) known.push_back({tagged, tagged});
  }
}

// "; did you mean a or b? To ...", or "; to ..." if nothing is close.
std::string with_suggestion(const std::string& given, const std::vector<KnownName>& known, std::string advice) {
  const std::vector<std::string> near = near_names(given, known);
  if (near.empty()) return advice.empty() ? "" : "; " + advice;
  if (!advice.empty()) advice[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(advice[0])));
  return fmt::format("; did you mean {}?{}{}", listed(near, " or "), advice.empty() ? "" : " ", advice);
}

// The table's tags for a model, if it has the model but not the given tag; else none.
std::vector<std::string> other_tags(const ModelName& name) {
  std::vector<std::string> names;
  for (const ModelName& row : short_names_of(name)) {
    if (row.tag == name.tag) return {};
    names.push_back(to_string(row));
  }
  return names;
}

Error not_here(const Library& library, const std::string& given) {
  const auto name = parse_name(given);
  const std::string pull = "realizar pull ",
                    nothing = "there is neither a file nor a model '" + shown(given) + "' on this machine";
  std::vector<KnownName> known = names_here(library);
  const std::vector<std::string> tags = name.ok() ? other_tags(*name) : std::vector<std::string>();
  if (!tags.empty()) {
    const std::string advice =
        fmt::format("known tags: {}; to download one: {}{}", listed(tags, " and "), pull, tags[0]);
    return not_found(nothing + with_suggestion(given, known, advice), given);
  }
  add_table(given.find(':') != std::string::npos, known);
  const bool is_path = is_path_like(given) && !has_name_scheme(given);
  if (!name.ok() || is_path) {
    return not_found("there is no file or folder " + shown(given) + with_suggestion(given, known, ""), given);
  }
  const std::string advice = "to download it: " + pull + shown(given);
  // A name in the table is not a typo.
  if (!short_names_of(*name).empty()) return not_found(nothing + "; " + advice, given);
  return not_found(nothing + with_suggestion(given, known, advice), given);
}

}  // namespace

std::vector<std::string> near_names(std::string_view given, std::span<const KnownName> known) {
  if (given.empty() || given.size() > kMaxNameBytes) return {};
  const std::string word = lower_case(given);
  struct Near {
    size_t distance;
    const std::string* name;
  };
  std::vector<Near> found;
  for (const KnownName& one : known) {
    if (one.spelling.size() > kMaxNameBytes) continue;
    const std::string spelling = lower_case(one.spelling);
    const size_t distance = std::min(whole_distance(word, spelling), beginning_distance(word, spelling));
    if (distance < kFar) found.push_back({distance, &one.name});
  }
  std::ranges::stable_sort(found, {}, &Near::distance);
  std::vector<std::string> names;
  for (const Near& near : found) {
    if (names.size() < kMaxNames && std::ranges::find(names, *near.name) == names.end()) names.push_back(*near.name);
  }
  return names;
}

Result<LocalModel> locate_named(const Library& library, const std::string& given) {
  const auto name = parse_name(given);
  if (!name.ok() && has_name_scheme(given)) return name.error();
  if (!name.ok()) return not_here(library, given);
  auto model = library.find(*name);
  const bool is_none = !model.ok() && model.error().code == ErrorCode::kNotFound && model.error().subject == "model";
  if (is_none) return not_here(library, given);
  return model;
}

Result<std::optional<ModelName>> locate_match(const Library& library, const ModelName& repository,
                                              const std::string& pattern) {
  std::vector<std::string> notes;
  std::vector<RepoFile> files;  // each once, even if it has several names here
  std::optional<ModelName> found;
  for (const LocalModel& model : library.list(notes)) {
    ModelName of = model.name;
    of.tag = repository.tag;
    const RepoFile file{model.path.filename().string()};
    const bool matches = of == repository && matching_model({file}, pattern, "").ok();
    if (!matches || std::ranges::find(files, file.path, &RepoFile::path) != files.end()) continue;
    files.push_back(file);
    found = model.name;
  }
  if (files.size() > 1) return matching_model(files, pattern, to_string(repository)).error();
  return found;
}

Result<LocalModel> locate(const Library& library, const std::string& given) {
  std::error_code error;
  if (!std::filesystem::exists(given, error)) return locate_named(library, given);
  LocalModel model;
  model.place = Place::kFile;
  model.path = given;
  return model;
}

bool is_known_name(const std::string& word) {
  if (has_name_scheme(word) || word == kBundledModel) return true;
  const auto name = parse_name(word);
  if (!name.ok()) return false;
  return word.find(':') != std::string::npos || name->kind != NameKind::kLocal || !short_names_of(*name).empty();
}

}  // namespace realizar::hub
