#include "hub/gguf_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::hub {
namespace {

// What a model's users want first: as small as its answers stay good.
constexpr std::array<std::string_view, 10> kUsualQuantizations = {"Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q6_K",
                                                                  "Q8_0",   "MXFP4",  "BF16",   "F16",  "F32"};

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool ends_word(std::string_view text, size_t at) {
  return at >= text.size() || text[at] == '-' || text[at] == '.' || text[at] == '/';
}

// "Q4_K" is a word of "model-Q4_K.gguf" and "model_Q4_K.gguf", and none of "model-Q4_K_M.gguf".
bool has_word(std::string_view path, std::string_view word) {
  for (size_t at = 0; at + word.size() <= path.size(); ++at) {
    const bool begins = at == 0 || ends_word(path, at - 1) || path[at - 1] == '_';
    if (begins && ends_word(path, at + word.size()) && equals_ignoring_case(path.substr(at, word.size()), word))
      return true;
  }
  return false;
}

// Lies beside a model and is none: a projector, an importance matrix.
bool is_companion(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kWords = {"mmproj", "mm_proj", "imatrix", "projector"};
  const std::string name = lower_case(file_name(path));
  return std::ranges::any_of(kWords, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::vector<const RepoFile*> with_word(const std::vector<const RepoFile*>& files, std::string_view word) {
  std::vector<const RepoFile*> found;
  for (const RepoFile* file : files) {
    if (has_word(file->path, word)) found.push_back(file);
  }
  return found;
}

std::string list_of(const std::vector<const RepoFile*>& files) {
  constexpr size_t kMost = 30;
  std::vector<std::string> names;
  for (const RepoFile* file : files) names.push_back(shown(file->path));
  std::ranges::sort(names);
  const size_t n_more = names.size() - std::min(names.size(), kMost);
  names.resize(names.size() - n_more);
  return fmt::format("{}{}", fmt::join(names, ", "), n_more > 0 ? fmt::format(" and {} more", n_more) : "");
}

// The file, or all parts of it.
Result<std::vector<ChosenFile>> with_parts(const std::vector<RepoFile>& files, const RepoFile& first) {
  const auto part = part_number(first.path);
  if (!part) return std::vector<ChosenFile>{{first, FileRole::kModel}};
  std::vector<ChosenFile> chosen;
  for (uint32_t no = 1; no <= part->count; ++no) {
    const std::string path = fmt::format("{}-{:05}-of-{:05}.gguf", part->stem, no, part->count);
    const auto found = std::ranges::find(files, path, &RepoFile::path);
    if (found == files.end()) {
      return format_error(fmt::format("{}: part {} of {} is missing", shown(first.path), no, part->count), "model");
    }
    chosen.push_back({*found, FileRole::kModel});
  }
  return chosen;
}

Result<const RepoFile*> choose_gguf(const std::vector<const RepoFile*>& ggufs, const std::string& what,
                                    const std::string& name) {
  const auto shortest = [](const std::vector<const RepoFile*>& files) {
    return *std::ranges::min_element(files, {}, [](const RepoFile* file) { return file->path.size(); });
  };
  if (!what.empty()) {
    const auto found = with_word(ggufs, what);
    if (!found.empty()) return shortest(found);
    return not_found(fmt::format("{}: there is no '{}'; there are: {}", name, shown(what), list_of(ggufs)), "model");
  }
  if (ggufs.size() == 1) return ggufs.front();
  for (const std::string_view usual : kUsualQuantizations) {
    const auto found = with_word(ggufs, usual);
    if (!found.empty()) return shortest(found);
  }
  return not_found(fmt::format("{}: several files are there, name one after a colon: {}", name, list_of(ggufs)),
                   "model");
}

// A file of one of sentence-transformers' modules, which lie in numbered folders: "1_Pooling/config.json",
// "2_Dense/model.safetensors".
bool belongs_to_module(std::string_view path) {
  const size_t slash = path.find('/'), underscore = path.find('_');
  if (slash == std::string_view::npos || underscore == 0 || underscore > slash) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view file = path.substr(slash + 1);
  return std::ranges::all_of(path.substr(0, underscore), is_digit) &&
         (file == "config.json" || file == "model.safetensors");
}

// Of a Hugging Face model: what its readers may look for.
bool belongs_to_folder(std::string_view path) {
  static constexpr std::array<std::string_view, 5> kEndings = {".json", ".jinja", ".model", ".tiktoken", ".txt"};
  if (belongs_to_module(path)) return true;
  if (path.starts_with("additional_chat_templates/") && path.ends_with(".jinja")) return true;
  const bool is_below = path.find('/') != std::string_view::npos;
  return !is_below && std::ranges::any_of(kEndings, [&](std::string_view ending) { return path.ends_with(ending); });
}

Result<std::vector<ChosenFile>> choose_folder(const std::vector<RepoFile>& files, const std::string& name) {
  std::vector<ChosenFile> chosen;
  bool has_config = false, has_weights = false, has_other_weights = false;
  const bool has_usual = std::ranges::any_of(files, [](const RepoFile& file) {
    return file.path.starts_with("model") && file.path.ends_with(".safetensors");
  });
  for (const RepoFile& file : files) {
    // Some repositories have the same weights twice, once in their makers' own form.
    const bool is_double = has_usual && file.path.starts_with("consolidated");
    const bool is_weights =
        file.path.ends_with(".safetensors") && file.path.find('/') == std::string::npos && !is_double;
    has_other_weights |= file.path.ends_with(".bin") || file.path.ends_with(".pth") || file.path.ends_with(".pt");
    has_config |= file.path == "config.json";
    has_weights |= is_weights;
    if (is_weights) chosen.push_back({file, FileRole::kModel});
    if (belongs_to_folder(file.path)) chosen.push_back({file, FileRole::kFile});
  }
  if (has_config && has_weights) return chosen;
  if (has_other_weights) {
    return unsupported(name +
                           ": its weights are in PyTorch's format alone, which can run code; look for one with "
                           "SafeTensors or GGUF files",
                       "model");
  }
  return not_found(name + ": there is no model: expected a .gguf file, or config.json with .safetensors files",
                   "model");
}

}  // namespace

bool begins_model(std::string_view path) {
  const auto part = part_number(path);
  return path.ends_with(".gguf") && (!part || part->no == 1) && !is_companion(path);
}

Result<std::vector<ChosenFile>> choose_files(const std::vector<RepoFile>& files, const std::string& what,
                                             const std::string& name) {
  const auto named = std::ranges::find(files, what, &RepoFile::path);
  if (named != files.end() && what.ends_with(".gguf")) return with_parts(files, *named);
  if (what.ends_with(".gguf")) return not_found(fmt::format("{}: there is no file '{}'", name, shown(what)), "model");
  std::vector<const RepoFile*> ggufs;
  for (const RepoFile& file : files) {
    if (begins_model(file.path)) ggufs.push_back(&file);
  }
  if (!ggufs.empty()) {
    RZ_TRY(const RepoFile* chosen, choose_gguf(ggufs, what, name));
    return with_parts(files, *chosen);
  }
  if (what.empty()) return choose_folder(files, name);
  return not_found(fmt::format("{}: there is no .gguf file, of which '{}' could be one", name, shown(what)), "model");
}

}  // namespace realizar::hub
