#include "formats/gguf_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii_case.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/try.h"
#include "formats/byte_cursor.h"
#include "formats/foreign_files.h"
#include "formats/gguf_format.h"
#include "formats/hf_config.h"
#include "formats/part_name.h"

namespace realizar {
namespace {

struct KindKeys {
  std::string architecture, type;
  bool has_imatrix_keys = false, has_tensors = true;
};

GgufKind kind_of(const KindKeys& keys) {
  struct Named {
    std::string_view name;
    GgufKind kind;
  };
  static constexpr std::array<Named, 7> kTypes = {{{"mmproj", GgufKind::kProjector},
                                                   {"projector", GgufKind::kProjector},
                                                   {"clip-vision", GgufKind::kProjector},
                                                   {"imatrix", GgufKind::kImportanceMatrix},
                                                   {"adapter", GgufKind::kAdapter},
                                                   {"controlvector", GgufKind::kControlVector},
                                                   {"vocab", GgufKind::kVocabulary}}};
  const std::string type = lower_case(keys.type), architecture = lower_case(keys.architecture);
  const auto named = std::ranges::find(kTypes, type, &Named::name);
  if (named != kTypes.end()) return named->kind;
  if (architecture == "clip") return GgufKind::kProjector;
  if (architecture == "controlvector") return GgufKind::kControlVector;
  if (keys.has_imatrix_keys && architecture.empty()) return GgufKind::kImportanceMatrix;
  return keys.has_tensors ? GgufKind::kModel : GgufKind::kVocabulary;
}

bool is_imatrix_key(std::string_view key) {
  return key == "imatrix.datasets" || key == "imatrix.chunk_count" || key == "imatrix.chunk_size";
}

// Size of a value of fixed length; 0 for other types.
uint64_t scalar_bytes(uint32_t type) {
  constexpr std::array<uint8_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < kBytes.size() ? kBytes[type] : 0;
}

Status skip_value(ByteCursor& in, uint32_t type) {
  if (type == static_cast<uint32_t>(GgufValueType::kString)) {
    RZ_TRY([[maybe_unused]] const auto text, in.read_string("value"));
    return {};
  }
  if (type != static_cast<uint32_t>(GgufValueType::kArray)) {
    const uint64_t n_bytes = scalar_bytes(type);
    if (n_bytes == 0) return format_error("value type");
    RZ_TRY([[maybe_unused]] const auto value, in.take(1, n_bytes, "value"));
    return {};
  }
  RZ_TRY(const auto elem_type, in.read<uint32_t>("value"));
  RZ_TRY(const auto n, in.read<uint64_t>("value"));
  if (const uint64_t n_bytes = scalar_bytes(elem_type); n_bytes > 0) {
    RZ_TRY([[maybe_unused]] const auto values, in.take(n, n_bytes, "value"));
    return {};
  }
  if (elem_type != static_cast<uint32_t>(GgufValueType::kString)) return format_error("value type");
  for (uint64_t i = 0; i < n; ++i) {
    RZ_TRY([[maybe_unused]] const auto text, in.read_string("value"));
  }
  return {};
}

// Reads until the bytes or the keys end, or both names are known.
Status read_kind_keys(ByteCursor& in, uint64_t n_keys, KindKeys& keys) {
  for (uint64_t i = 0; i < n_keys && (keys.type.empty() || keys.architecture.empty()); ++i) {
    RZ_TRY(const std::string_view key, in.read_string("key"));
    RZ_TRY(const auto type, in.read<uint32_t>("value type"));
    keys.has_imatrix_keys |= is_imatrix_key(key);
    std::string* text = key == "general.architecture" ? &keys.architecture
                        : key == "general.type"       ? &keys.type
                                                      : nullptr;
    if (text == nullptr || type != static_cast<uint32_t>(GgufValueType::kString)) {
      RZ_CHECK_OK(skip_value(in, type));
      continue;
    }
    RZ_TRY(const std::string_view value, in.read_string("value"));
    *text = value;
  }
  return {};
}

// "Q4_K_M", "IQ2_XS", "f16": usually the last word of a model's name.
bool is_quantization(std::string_view word) {
  const std::string lower = lower_case(word);
  const auto has_digit_at = [&](size_t at) { return at < lower.size() && lower[at] >= '0' && lower[at] <= '9'; };
  if (lower == "f16" || lower == "bf16" || lower == "f32" || lower.starts_with("mxfp4")) return true;
  for (const std::string_view beginning : {"q", "iq", "tq"}) {
    if (lower.starts_with(beginning) && has_digit_at(beginning.size())) return true;
  }
  return false;
}

bool ends_with_quantization(std::string_view stem) {
  for (size_t at = 0; at < stem.size(); ++at) {
    const bool begins_word = at > 0 && (stem[at - 1] == '-' || stem[at - 1] == '.' || stem[at - 1] == '_');
    const std::string_view rest = stem.substr(at);
    const bool is_word = rest.find('-') == std::string_view::npos && rest.find('.') == std::string_view::npos;
    if (begins_word && is_word && is_quantization(rest)) return true;
  }
  return false;
}

constexpr size_t kMaxNamesShown = 12;
constexpr std::string_view kGguf = ".gguf";

bool begins_gguf(const std::string& name) {
  const auto part = part_name(name, kGguf);
  return ends_with_ignoring_case(name, kGguf) && (!part || part->no == 1);
}

// The base model of a PEFT folder, "" if it is not stated; nullopt: not such a folder.
std::optional<std::string> base_of_adapter(const std::filesystem::path& folder) {
  constexpr uint64_t kMaxConfigBytes = 1 << 20;
  const auto text = read_file(folder / "adapter_config.json", kMaxConfigBytes);
  if (!text.ok()) return std::nullopt;
  const auto config = parse_json_object(*text, "adapter_config.json");
  const auto base = config.ok() ? config->value("base_model_name_or_path", nlohmann::json()) : nlohmann::json();
  return base.is_string() ? base.get<std::string>() : "";
}

Error no_model_in(const std::filesystem::path& folder, const std::vector<std::string>& companions) {
  const std::string advice = pytorch_folder_advice(folder);
  if (!advice.empty()) return unsupported(fmt::format("{}: {}", folder.string(), advice), folder.string());
  if (!companions.empty()) {
    const auto kind = gguf_kind_at(folder / companions.front()).value_or(GgufKind::kModel);
    if (kind != GgufKind::kModel) {
      return unsupported(
          fmt::format("there is no model in {}: {} is {}", folder.string(), companions.front(), kind_advice(kind)),
          folder.string());
    }
  }
  if (const auto base = base_of_adapter(folder)) {
    return unsupported(fmt::format("there is no model in {}: it is {}{}", folder.string(),
                                   kind_advice(GgufKind::kAdapter), base->empty() ? "" : "; it names " + shown(*base)),
                       folder.string());
  }
  return not_found(fmt::format("there is no model in {}: expected a .gguf file, or config.json with .safetensors files",
                               folder.string()),
                   folder.string());
}

}  // namespace

std::optional<GgufKind> gguf_kind(std::span<const std::byte> beginning, bool is_part) {
  ByteCursor in(beginning, "");
  const auto magic = in.read<uint32_t>("magic");
  if (!magic.ok() || std::memcmp(&*magic, kGgufMagic.data(), kGgufMagic.size()) != 0) return std::nullopt;
  const auto version = in.read<uint32_t>("version");
  const auto n_tensors = in.read<uint64_t>("tensor_count"), n_keys = in.read<uint64_t>("metadata_kv_count");
  if (!version.ok() || !n_tensors.ok() || !n_keys.ok()) return GgufKind::kModel;
  KindKeys keys;
  keys.has_tensors = *n_tensors > 0 || is_part;
  // The bytes may end among the keys: those read so far count.
  [[maybe_unused]] const Status read = read_kind_keys(in, *n_keys, keys);
  return kind_of(keys);
}

std::optional<GgufKind> gguf_kind_at(const std::filesystem::path& path) {
  const auto map = MappedFile::open(path);
  if (!map.ok()) return std::nullopt;
  return gguf_kind(map->bytes(), part_name(path.filename().string(), ".gguf").has_value());
}

GgufKind gguf_kind(const Metadata& metadata, bool has_tensors) {
  const auto text = [&](const char* key) {
    const auto value = metadata.get_string(key);
    return value.ok() ? value->value_or("") : "";
  };
  const bool has_imatrix_keys =
      std::ranges::any_of(metadata.entries(), [](const auto& entry) { return is_imatrix_key(entry.first); });
  return kind_of({text("general.architecture"), text("general.type"), has_imatrix_keys, has_tensors});
}

bool is_companion_name(std::string_view path) {
  const std::string name = lower_case(path.substr(path.rfind('/') + 1));
  for (const std::string_view word : {"mmproj", "mm_proj", "projector"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  const std::string_view stem = std::string_view(name).substr(0, name.rfind('.'));
  return name.find("imatrix") != std::string::npos && !ends_with_quantization(stem);
}

std::string_view kind_advice(GgufKind kind) {
  switch (kind) {
    case GgufKind::kModel:
      break;
    case GgufKind::kProjector:
      return "a projector, with which a model reads pictures or sound, and no model. Projectors are not supported; "
             "name the model's own file, which reads texts without it";
    case GgufKind::kImportanceMatrix:
      return "an importance matrix, and no model. It serves when a model is quantized: realizar quantize MODEL OUT "
             "TYPE --imatrix FILE";
    case GgufKind::kAdapter:
      return "a LoRA adapter, and no model. Give it with the model that it was made for: realizar run MODEL --lora "
             "FILE";
    case GgufKind::kControlVector:
      return "a control vector, and no model. Control vectors are not supported";
    case GgufKind::kVocabulary:
      return "a vocabulary without weights, and no model. It serves for realizar tokenize and template alone";
  }
  return "a model";
}

bool is_gguf_model(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  // llama.cpp looks for projectors by this name, whatever their headers say.
  if (!begins_gguf(name) || name.starts_with("mmproj")) return false;
  const auto kind = gguf_kind_at(path);
  return kind ? *kind == GgufKind::kModel : !is_companion_name(path.string());
}

Result<std::filesystem::path> find_gguf(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::string> names, companions;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (begins_gguf(name)) (is_gguf_model(entry->path()) ? names : companions).push_back(name);
  }
  if (error) {
    return not_found(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()), folder.string());
  }
  if (names.size() == 1) return folder / names.front();
  // A vocabulary alone suffices to tokenize texts.
  const bool is_vocabulary =
      companions.size() == 1 && gguf_kind_at(folder / companions.front()) == GgufKind::kVocabulary;
  if (names.empty() && is_vocabulary) return folder / companions.front();
  if (names.empty()) return no_model_in(folder, companions);
  std::sort(names.begin(), names.end());
  const size_t n_more = names.size() - std::min(names.size(), kMaxNamesShown);
  names.resize(names.size() - n_more);
  return invalid_argument(fmt::format("there are several models in {}, name one: {}{}", folder.string(),
                                      fmt::join(names, ", "), n_more > 0 ? fmt::format(" and {} more", n_more) : ""),
                          folder.string());
}

std::vector<std::filesystem::path> parts_of_gguf(const std::filesystem::path& path) {
  const auto own = part_name(path.filename().string(), kGguf);
  if (!own || own->no != 1) return {path};
  std::vector<std::filesystem::path> parts;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const auto part = part_name(entry->path().filename().string(), kGguf);
    if (part && part->is_same_set(*own)) parts.push_back(entry->path());
  }
  return parts;
}

}  // namespace realizar
