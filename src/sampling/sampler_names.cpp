#include "sampling/sampler_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/printable.h"

namespace realizar {
namespace {

struct SamplerName {
  std::string_view name;
  char letter;
  std::optional<SamplerKind> kind;  // nullopt: not implemented here, and ignored if a client names it
};

constexpr SamplerName kNames[] = {{"penalties", 'e', SamplerKind::kPenalties},
                                  {"dry", 'd', SamplerKind::kDry},
                                  {"top_n_sigma", 's', SamplerKind::kTopNSigma},
                                  {"top_k", 'k', SamplerKind::kTopK},
                                  {"typ_p", 'y', SamplerKind::kTypical},
                                  {"top_p", 'p', SamplerKind::kTopP},
                                  {"min_p", 'm', SamplerKind::kMinP},
                                  {"xtc", 'x', SamplerKind::kXtc},
                                  {"temperature", 't', SamplerKind::kTemperature},
                                  {"infill", 'i', std::nullopt},
                                  {"adaptive_p", 'a', std::nullopt},
                                  {"tfs_z", 'f', std::nullopt}};

// Other spellings, with '_' for '-'.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"nucleus", "top_p"}, {"typical_p", "typ_p"}, {"typical", "typ_p"}, {"typ", "typ_p"}, {"temp", "temperature"}};

const SamplerName* find(std::string name) {
  std::ranges::replace(name, '-', '_');
  const auto* other = std::ranges::find(kOtherNames, name, &std::pair<std::string_view, std::string_view>::first);
  const std::string_view wanted = other == std::end(kOtherNames) ? std::string_view(name) : other->second;
  const auto* found = std::ranges::find(kNames, wanted, &SamplerName::name);
  return found == std::end(kNames) ? nullptr : found;
}

const SamplerName* find(char letter) {
  const auto* found = std::ranges::find(kNames, letter, &SamplerName::letter);
  return found == std::end(kNames) ? nullptr : found;
}

Error no_such_sampler(std::string_view actual) {
  std::string all;
  for (const SamplerName& sampler : kNames) {
    if (sampler.kind) all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", sampler.name, sampler.letter);
  }
  return invalid_argument(fmt::format("samplers: expected {}, actual '{}'", all, actual), "samplers");
}

// `all`: names or letters; `text` gives one as a message shows it.
template <class All, class Text>
Result<std::vector<SamplerKind>> samplers_of(const All& all, const Text& text) {
  std::vector<SamplerKind> samplers;
  for (const auto& one : all) {
    const SamplerName* found = find(one);
    if (found == nullptr) return no_such_sampler(text(one));
    if (found->kind) samplers.push_back(*found->kind);
  }
  return samplers;
}

}  // namespace

Result<std::vector<SamplerKind>> samplers_of_names(const std::vector<std::string>& names) {
  return samplers_of(names, [](const std::string& name) { return shown(name); });
}

std::vector<std::string> names_of(std::span<const SamplerKind> samplers) {
  std::vector<std::string> names;
  for (const SamplerKind kind : samplers) {
    names.emplace_back(std::ranges::find(kNames, std::optional(kind), &SamplerName::kind)->name);
  }
  return names;
}

Result<std::vector<SamplerKind>> samplers_of_letters(std::string_view letters) {
  return samplers_of(letters, [](char letter) { return shown(std::string(1, letter)); });
}

Result<std::vector<SamplerKind>> samplers_of_list(std::string_view names) {
  std::vector<std::string> all;
  for (size_t first = 0; first < names.size();) {
    const size_t end = std::min(names.find(';', first), names.size());
    all.emplace_back(names.substr(first, end - first));
    first = end + 1;
  }
  return samplers_of_names(all);
}

}  // namespace realizar
