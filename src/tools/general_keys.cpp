#include "tools/general_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "tools/model_name.h"

namespace realizar {
namespace {

constexpr uint64_t kMostCardBytes = 1 << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\"'";
  while (!text.empty() && kAround.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && kAround.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

// The lines between the "---" marks at the beginning of a model card.
std::vector<std::string_view> card_lines(std::string_view card) {
  std::vector<std::string_view> lines;
  if (!card.starts_with("---")) return lines;
  for (size_t at = card.find('\n'); at != std::string_view::npos;) {
    const size_t end = card.find('\n', at + 1);
    const std::string_view line = card.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (line.starts_with("---")) return lines;
    lines.push_back(line);
    at = end;
  }
  return {};
}

// One of the card's values: a word, or a list in either of YAML's two plain forms.
std::vector<std::string> card_value(const std::vector<std::string_view>& lines, std::string_view key) {
  std::vector<std::string> values;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(key) || lines[i].substr(key.size(), 1) != ":") continue;
    std::string_view rest = trimmed(lines[i].substr(key.size() + 1));
    if (rest.starts_with('[') && rest.ends_with(']')) {
      rest = rest.substr(1, rest.size() - 2);
      for (size_t at = 0; at <= rest.size();) {
        const size_t end = std::min(rest.find(',', at), rest.size());
        if (const auto word = trimmed(rest.substr(at, end - at)); !word.empty()) values.emplace_back(word);
        at = end + 1;
      }
      return values;
    }
    if (!rest.empty()) return {std::string(rest)};
    for (++i; i < lines.size(); ++i) {
      const std::string_view item = trimmed(lines[i]);
      if (!item.starts_with("- ")) break;
      values.emplace_back(trimmed(item.substr(2)));
    }
    return values;
  }
  return values;
}

uint64_t n_weights_of(const ModelFile& folder) {
  uint64_t n = 0;
  for (const TensorInfo& tensor : folder.tensors()) n += tensor.n_elems();
  return n;
}

// "1.2B", "630M", "87K": two digits.
std::string rounded_count(uint64_t n_weights) {
  auto n = static_cast<double>(n_weights);
  char unit = 'K';
  double factor = 1e3;
  for (const auto& [own, letter] : {std::pair(1e12, 'T'), std::pair(1e9, 'B'), std::pair(1e6, 'M')}) {
    if (n <= own) continue;
    factor = own, unit = letter;
    break;
  }
  n /= factor;
  const double whole = std::round(n);
  return fmt::format("{:.{}f}{}", n, whole < 1 ? 2 : whole < 10 ? 1 : 0, unit);
}

// Information from a model's card, its config and its folder's name, in this order.
class GeneralKeys {
 public:
  GeneralKeys(const std::vector<std::string_view>& card, uint64_t n_weights, GgufKeys& keys)
      : card_(card), n_weights_(n_weights), keys_(keys) {}

  void add(const std::string& folder_name, const Metadata& config) {
    add_own_words();
    const auto given = config.get_string("_name_or_path");
    // A path on the makers' computer is not a name.
    const bool is_name = given.ok() && *given && std::ranges::count(**given, '/') <= 1;
    if (is_name) add_name(std::string(**given));
    add_name(folder_name);
    add_relatives("base_model", "general.base_model");
    add_relatives("datasets", "general.dataset");
    if (const auto license = card_value(card_, "license"); !license.empty()) {
      keys_.set("general.license", fmt::format("{}", fmt::join(license, ",")));
    }
    add_word("license_name", "general.license.name");
    add_word("license_link", "general.license.link");
    auto tags = card_value(card_, "tags");
    const auto task = card_value(card_, "pipeline_tag");
    tags.insert(tags.end(), task.begin(), task.end());
    if (!tags.empty()) keys_.set("general.tags", std::move(tags));
    if (auto languages = card_value(card_, "language"); !languages.empty()) {
      keys_.set("general.languages", std::move(languages));
    }
  }

 private:
  void set_new(const std::string& key, const std::string& value) {
    if (!value.empty() && keys_.find(key) == nullptr) keys_.set(key, value);
  }
  void add_word(std::string_view name, const std::string& key) {
    if (const auto words = card_value(card_, name); words.size() == 1) set_new(key, words.front());
  }

  // Cards use few of these keys; llama.cpp's converter reads them under both names.
  void add_own_words() {
    for (const char* name :
         {"name", "author", "version", "organization", "description", "finetune", "basename", "size_label"}) {
      add_word(name, std::string("general.") + name);
      add_word(std::string("model_") + name, std::string("general.") + name);
    }
    add_word("model_creator", "general.author");
    add_word("model_type", "general.basename");
  }

  void add_name(const std::string& id) {
    const ModelName name = read_model_name(id, n_weights_);
    set_new("general.name", name.title);
    set_new("general.organization", name.organization);
    set_new("general.basename", name.basename);
    set_new("general.finetune", name.finetune);
    set_new("general.version", name.version);
    set_new("general.size_label", name.size_label);
  }

  // The models that it was made from, and the data sets that it was trained with: "organization/name" each.
  void add_relatives(std::string_view name, const std::string& key) {
    const auto ids = card_value(card_, name);
    if (ids.empty()) return;
    keys_.set(key + ".count", static_cast<uint32_t>(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string own = fmt::format("{}.{}.", key, i);
      const bool is_url = ids[i].find("://") != std::string::npos;
      if (is_url) {
        keys_.set(own + "repo_url", ids[i]);
        continue;
      }
      const ModelName parts = read_model_name(ids[i], n_weights_);
      set_new(own + "name", parts.title);
      set_new(own + "organization", parts.organization);
      set_new(own + "version", parts.version);
      if (!parts.repository.empty()) keys_.set(own + "repo_url", "https://huggingface.co/" + parts.repository);
    }
  }

  const std::vector<std::string_view>& card_;
  const uint64_t n_weights_;
  GgufKeys& keys_;
};

}  // namespace

uint32_t file_type_of(TypeId type) {
  constexpr std::pair<TypeId, uint32_t> kNumbers[] = {{TypeId::kF32, 0},  {TypeId::kF16, 1},   {TypeId::kQ4_0, 2},
                                                      {TypeId::kQ4_1, 3}, {TypeId::kQ8_0, 7},  {TypeId::kQ5_0, 8},
                                                      {TypeId::kQ5_1, 9}, {TypeId::kBF16, 32}, {TypeId::kMXFP4, 38}};
  for (const auto& [own, number] : kNumbers) {
    if (own == type) return number;
  }
  return 1024;  // "guessed": llama.cpp then inspects the tensors
}

std::string size_label(const std::vector<PlannedTensor>& tensors) {
  uint64_t n_shared = 0, n_of_expert = 0, n_experts = 0, n_stacks = 0;
  for (const PlannedTensor& tensor : tensors) {
    const uint64_t n = tensor.rows->n_rows() * tensor.rows->n_cols();
    const bool is_stack = tensor.name.find("_exps.") != std::string::npos && tensor.shape.size() > 2;
    if (!is_stack) {
      n_shared += n;
      continue;
    }
    n_of_expert += n / tensor.shape.front();
    n_experts += tensor.shape.front();
    ++n_stacks;
  }
  const std::string size = rounded_count(n_shared + n_of_expert);
  return n_stacks == 0 ? size : fmt::format("{}x{}", n_experts / n_stacks, size);
}

void add_general_keys(const ModelFile& folder, std::string_view arch, GgufKeys& keys) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(folder.path(), error);
  const auto path = std::filesystem::weakly_canonical(is_folder ? folder.path() : folder.path().parent_path(), error);
  keys.set("general.architecture", std::string(arch));
  keys.set("general.type", std::string("model"));
  const auto text = read_file_or_pipe(path / "README.md", kMostCardBytes);
  const auto card = text.ok() ? card_lines(*text) : std::vector<std::string_view>();
  GeneralKeys(card, n_weights_of(folder), keys).add(path.filename().string(), folder.metadata());
}

}  // namespace realizar
