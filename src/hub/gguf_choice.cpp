#include "hub/gguf_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/gguf_kind.h"
#include "formats/part_name.h"
#include "formats/safetensors_reader.h"

namespace realizar::hub {
namespace {

constexpr std::string_view kGguf = ".gguf", kSafeTensors = ".safetensors";
constexpr uint64_t kMaxIndexBytes = 64u << 20;

// The usual preference: as small as possible while answers stay good.
constexpr std::array<std::string_view, 10> kUsualQuantizations = {"Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q6_K",
                                                                  "Q8_0",   "MXFP4",  "BF16",   "F16",  "F32"};

bool ends_word(std::string_view text, size_t at) {
  return at >= text.size() || text[at] == '-' || text[at] == '.' || text[at] == '/';
}

// "Q4_K" is a word of "model-Q4_K.gguf" and "model_Q4_K.gguf", but not of "model-Q4_K_M.gguf".
bool has_word(std::string_view path, std::string_view word) {
  for (size_t at = 0; at + word.size() <= path.size(); ++at) {
    const bool begins = at == 0 || ends_word(path, at - 1) || path[at - 1] == '_';
    if (begins && ends_word(path, at + word.size()) && equals_ignoring_case(path.substr(at, word.size()), word))
      return true;
  }
  return false;
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

// The file, or all parts of a split one.
Result<std::vector<ChosenFile>> with_parts(const std::vector<RepoFile>& files, const RepoFile& first) {
  const auto part = part_name(first.path, kGguf);
  if (!part) return std::vector<ChosenFile>{{first, FileRole::kModel}};
  std::vector<ChosenFile> chosen;
  for (uint32_t no = 1; no <= part->count; ++no) {
    const std::string path = part->name_of(no);
    auto found = std::ranges::find(files, path, &RepoFile::path);
    if (found == files.end()) {
      found = std::ranges::find_if(files, [&](const RepoFile& file) { return equals_ignoring_case(file.path, path); });
    }
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
  return not_found(fmt::format("{}: there are several files, name one after a colon: {}", name, list_of(ggufs)),
                   "model");
}

// The requested or usual one, among the files whose content says that they are models.
Result<const RepoFile*> choose_model(std::vector<const RepoFile*> ggufs, const std::string& what,
                                     const std::string& name, const FileReader& reader) {
  constexpr size_t kMaxLooks = 8;
  const auto is_other = [&](const RepoFile* file) { return !is_model(*file, reader); };
  for (size_t n_looks = 0; reader.beginning; ++n_looks) {
    const auto chosen = choose_gguf(ggufs, what, name);
    const bool is_clear = chosen.ok() && ggufs.size() == 1 && !reader.is_on_disk;
    if (is_clear || n_looks == kMaxLooks || (chosen.ok() && !is_other(*chosen))) return chosen;
    if (chosen.ok()) {
      std::erase(ggufs, *chosen);
    } else if (!what.empty() || ggufs.size() > kMaxLooks || std::erase_if(ggufs, is_other) == 0) {
      return chosen;
    }
    if (ggufs.empty())
      return not_found(fmt::format("{}: there is no model, only files that accompany one", name), "model");
  }
  return choose_gguf(ggufs, what, name);
}

// "q4_k_m", "iq2_xxs", "tq1_0", "bf16".
bool is_quantization(const std::string& lower) {
  for (const char* whole : {"f16", "f32", "bf16", "mxfp4"}) {
    if (lower == whole) return true;
  }
  const size_t q = lower.find('q');
  const bool begins = q == 0 || (q == 1 && (lower[0] == 'i' || lower[0] == 't'));
  return begins && lower.size() > q + 1 && lower[q + 1] >= '0' && lower[q + 1] <= '9';
}

// "Q4_K_M" of "q/model-Q4_K_M-00001-of-00002.gguf"; "": none of its words is one.
std::string_view quantization_of(std::string_view path) {
  while (!path.empty()) {
    const size_t before = path.find_last_of("-./");
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (is_quantization(lower_case(path.substr(begin)))) return path.substr(begin);
    path = path.substr(0, begin == 0 ? 0 : before);
  }
  return {};
}

// A numbered folder like those of sentence-transformers' modules: "1_Pooling".
bool is_numbered(std::string_view folder) {
  const size_t underscore = folder.find('_');
  if (underscore == 0 || underscore == std::string_view::npos) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::all_of(folder.substr(0, underscore), is_digit);
}

bool has_side_ending(std::string_view file) {
  static constexpr std::array<std::string_view, 5> kEndings = {".json", ".jinja", ".model", ".tiktoken", ".txt"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return file.ends_with(ending); });
}

// The files of a Hugging Face model in a repository: the folder of its transformer, and those of its modules.
class FolderChoice {
 public:
  FolderChoice(const std::vector<RepoFile>& files, const std::string& name) : files_(files), name_(name) {}

  Result<std::vector<ChosenFile>> choose(const FileReader& reader) {
    RZ_CHECK_OK(read_modules(reader));
    for (const FolderModule& module : modules_) RZ_CHECK_OK(check(module));
    std::vector<ChosenFile> chosen;
    for (const RepoFile& file : files_) {
      if (is_weights(file)) chosen.push_back({file, FileRole::kModel});
      if (!is_weights(file) && belongs(file.path)) chosen.push_back({file, FileRole::kFile});
    }
    const bool has_weights =
        std::ranges::any_of(chosen, [](const ChosenFile& one) { return one.role == FileRole::kModel; });
    if (has(in_transformer("config.json")) && has_weights) {
      RZ_CHECK_OK(check_parts(reader));
      return chosen;
    }
    if (has("adapter_config.json") && !has("config.json")) {
      return unsupported(fmt::format("{}: this is {}", name_, kind_advice(GgufKind::kAdapter)), "model");
    }
    if (std::ranges::any_of(files_, is_pytorch)) return pytorch_alone("its weights");
    return not_found(name_ + ": there is no model: expected a .gguf file, or config.json with .safetensors files",
                     "model");
  }

 private:
  static bool is_pytorch(const RepoFile& file) {
    return file.path.ends_with(".bin") || file.path.ends_with(".pth") || file.path.ends_with(".pt");
  }
  Error pytorch_alone(const std::string& what) const {
    return unsupported(
        fmt::format(
            "{}: {} are only in PyTorch's format, which can run code; look for one with SafeTensors or GGUF files",
            name_, what),
        "model");
  }
  bool has(const std::string& path) const { return std::ranges::find(files_, path, &RepoFile::path) != files_.end(); }
  std::string in_transformer(std::string_view file) const { return transformer_ + std::string(file); }

  Status read_modules(const FileReader& reader) {
    const auto file = std::ranges::find(files_, kModulesName, &RepoFile::path);
    if (file == files_.end() || !reader.beginning || file->n_bytes > kMaxModulesBytes) return {};
    RZ_TRY(const std::string text, reader.beginning(*file, file->n_bytes));
    RZ_TRY(modules_, parse_folder_modules(text, fmt::format("{}: {}", name_, kModulesName)));
    if (!modules_.front().path.empty()) transformer_ = modules_.front().path + "/";
    return {};
  }

  Status check(const FolderModule& module) const {
    if (module.path.empty() || !module.has_files()) return {};
    const auto is_below = [&](const RepoFile& file) { return file.path.starts_with(module.path + "/"); };
    const std::string_view what = std::ranges::none_of(files_, is_below) ? "which is not there"
                                  : !has(module.path + "/config.json")   ? "which has no config.json"
                                                                         : "";
    if (!what.empty()) {
      return not_found(fmt::format("{}: {} names {}, {}", name_, kModulesName, shown(module.path), what), "model");
    }
    if (module.kind != "Dense" || has(module.path + "/model.safetensors")) return {};
    const auto is_own = [&](const RepoFile& file) { return is_below(file) && is_pytorch(file); };
    if (std::ranges::any_of(files_, is_own)) return pytorch_alone(fmt::format("weights of {}", shown(module.path)));
    return not_found(
        fmt::format("{}: {} names {}, which has no model.safetensors", name_, kModulesName, shown(module.path)),
        "model");
  }

  // All numbered parts must exist, unless an index does not use them.
  Status check_parts(const FileReader& reader) const {
    if (has(in_transformer("model.safetensors"))) return {};
    for (const RepoFile& file : files_) {
      const auto part = is_weights(file) ? part_name(file.path, kSafeTensors) : std::nullopt;
      for (uint32_t no = 1; part && no <= part->count && part->count <= files_.size(); ++no) {
        if (has(part->name_of(no)) || !is_needed(part->name_of(no), reader)) continue;
        return format_error(
            fmt::format("{}: part {} of {} is missing: {}", name_, no, part->count, shown(part->name_of(no))), "model");
      }
      if (part && part->count > files_.size()) {
        return format_error(fmt::format("{}: {} has parts that are missing", name_, shown(file.path)), "model");
      }
    }
    return {};
  }

  // If the index cannot be read, every part is needed.
  bool is_needed(const std::string& part, const FileReader& reader) const {
    const auto index = std::ranges::find(files_, in_transformer("model.safetensors.index.json"), &RepoFile::path);
    if (index == files_.end() || !reader.beginning || index->n_bytes > kMaxIndexBytes) return true;
    const auto text = reader.beginning(*index, index->n_bytes);
    const auto shards = text.ok() ? parse_safetensors_index(*text, index->path) : Result<ShardMap>(text.error());
    if (!shards.ok()) return true;
    return std::ranges::any_of(*shards, [&](const auto& entry) { return in_transformer(entry.second) == part; });
  }

  // Some repositories have the weights twice, once in the makers' own format.
  bool is_weights(const RepoFile& file) const {
    if (!file.path.starts_with(transformer_) || !ends_with_ignoring_case(file.path, kSafeTensors)) return false;
    const std::string_view own = std::string_view(file.path).substr(transformer_.size());
    return own.find('/') == std::string_view::npos && !(own.starts_with("consolidated") && has_usual_weights());
  }
  bool has_usual_weights() const {
    return std::ranges::any_of(files_, [&](const RepoFile& file) {
      return file.path.starts_with(transformer_ + "model") && file.path.ends_with(kSafeTensors);
    });
  }

  // Whether readers of the model may need the file.
  bool belongs(std::string_view path) const {
    const size_t slash = path.rfind('/');
    const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
    const std::string_view file = path.substr(slash + 1);
    const std::string_view transformer = std::string_view(transformer_).substr(0, transformer_.rfind('/'));
    const bool is_of_dense = ends_with_ignoring_case(file, kSafeTensors);
    if (folder.empty() || folder == transformer) return has_side_ending(file);
    if (path.starts_with(transformer_ + "additional_chat_templates/")) return file.ends_with(".jinja");
    for (const FolderModule& module : modules_) {
      if (folder == module.path) return has_side_ending(file) || is_of_dense;
    }
    return modules_.empty() && is_numbered(folder) && (file == "config.json" || file == "model.safetensors");
  }

  const std::vector<RepoFile>& files_;
  const std::string& name_;
  std::vector<FolderModule> modules_ = {};
  std::string transformer_ = {};  // "", or its folder with a trailing slash
};

}  // namespace

Result<std::string> read_beginning(const std::filesystem::path& path, uint64_t n_bytes) {
  RZ_TRY(const OpenFile file, open_regular_file(path));
  std::string bytes(std::min(n_bytes, file.n_bytes), '\0');
  if (read_exactly(file.fd, std::as_writable_bytes(std::span(bytes)))) return bytes;
  return format_error(path.string() + " cannot be read", path.string());
}

FileReader reader_of_folder(std::filesystem::path folder) {
  const auto beginning = [folder = std::move(folder)](const RepoFile& file, uint64_t n_bytes) {
    return read_beginning(folder / file.path, n_bytes);
  };
  return {beginning, true};
}

bool begins_model(std::string_view path) {
  const auto part = part_name(path, kGguf);
  return ends_with_ignoring_case(path, kGguf) && (!part || part->no == 1) && !is_companion_name(path);
}

bool is_model(const RepoFile& file, const FileReader& reader) {
  if (!reader.beginning) return true;
  const auto bytes = reader.beginning(file, kGgufKindBytes);
  if (!bytes.ok()) return true;
  const auto kind = gguf_kind(std::as_bytes(std::span(*bytes)), part_name(file.path, kGguf).has_value());
  return kind.value_or(GgufKind::kModel) == GgufKind::kModel;
}

Result<std::vector<ChosenFile>> choose_files(const std::vector<RepoFile>& files, const std::string& what,
                                             const std::string& name, const FileReader& reader) {
  const auto named = std::ranges::find(files, what, &RepoFile::path);
  const bool is_file = ends_with_ignoring_case(what, kGguf);
  if (named != files.end() && is_file) return with_parts(files, *named);
  if (is_file) return not_found(fmt::format("{}: there is no file '{}'", name, shown(what)), "model");
  std::vector<const RepoFile*> ggufs;
  for (const RepoFile& file : files) {
    if (begins_model(file.path)) ggufs.push_back(&file);
  }
  if (!ggufs.empty()) {
    RZ_TRY(const RepoFile* chosen, choose_model(ggufs, what, name, reader));
    return with_parts(files, *chosen);
  }
  if (what.empty()) return FolderChoice(files, name).choose(reader);
  return not_found(fmt::format("{}: there is no .gguf file, of which '{}' could be one", name, shown(what)), "model");
}

std::vector<GgufModel> gguf_models(const std::vector<RepoFile>& files) {
  std::vector<const RepoFile*> ggufs;
  for (const RepoFile& file : files) {
    if (begins_model(file.path)) ggufs.push_back(&file);
  }
  if (ggufs.empty()) return {};
  const auto usual = choose_gguf(ggufs, "", "");
  std::vector<GgufModel> models;
  for (const RepoFile* file : ggufs) {
    const auto parts = with_parts(files, *file);
    if (!parts.ok()) continue;
    GgufModel model{file->path, file->path, 0, usual.ok() && *usual == file};
    const std::string_view word = quantization_of(file->path);
    const auto named = choose_gguf(ggufs, std::string(word), "");
    if (!word.empty() && named.ok() && *named == file) model.what = word;
    for (const ChosenFile& part : *parts) model.n_bytes += part.file.n_bytes;
    models.push_back(std::move(model));
  }
  return models;
}

Result<std::string> matching_model(const std::vector<RepoFile>& files, const std::string& pattern,
                                   const std::string& name) {
  const auto matches = [&](std::string_view path) {
    return ::fnmatch(pattern.c_str(), std::string(path).c_str(), FNM_CASEFOLD) == 0;
  };
  std::vector<const RepoFile*> models, found;
  for (const RepoFile& file : files) {
    if (!begins_model(file.path)) continue;
    models.push_back(&file);
    const std::string_view path = file.path;
    if (matches(path) || matches(path.substr(path.rfind('/') + 1))) found.push_back(&file);
  }
  if (found.size() == 1) return found.front()->path;
  if (models.empty()) return not_found(name + ": there is no .gguf file", "model");
  return not_found(found.empty()
                       ? fmt::format("{}: no file matches '{}'; there are: {}", name, shown(pattern), list_of(models))
                       : fmt::format("{}: several files match '{}': {}", name, shown(pattern), list_of(found)),
                   "model");
}

}  // namespace realizar::hub
