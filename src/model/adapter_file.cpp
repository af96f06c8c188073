#include "model/adapter_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backend/adapter_ops.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "formats/adapter_config.h"
#include "formats/hf_config.h"
#include "formats/safetensors_reader.h"
#include "quant/finite.h"

namespace realizar {
namespace {

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr std::string_view kWeightSuffix = ".weight";

// The file's two matrices for one tensor of the model.
struct Halves {
  const TensorInfo *down = nullptr, *up = nullptr;
  double scale = 1;
};

struct AdapterFile {
  std::string path;
  bool is_gguf = false;
  bool is_transposed = false;     // halves are [n_cols, rank] and [rank, n_rows], as in MLX
  std::string architecture;       // GGUF's general.architecture, or ""
  std::optional<ModelFile> gguf;  // this or the next two own the tensors
  MappedFile map;
  std::vector<TensorInfo> tensors;
  std::map<std::string, Halves, std::less<>> halves;  // by the name of the model's tensor without ".weight"

  Status check() const { return gguf ? gguf->check() : map.check(); }
  // For halves that are matrices.
  uint64_t n_rows(const TensorInfo& half) const { return half.shape[is_transposed ? 1 : 0]; }
  uint64_t n_cols(const TensorInfo& half) const { return half.shape[is_transposed ? 0 : 1]; }
};

Error in_tensor(const AdapterFile& file, std::string_view tensor, const std::string& what) {
  return format_error(fmt::format("{}: tensor '{}': {}", file.path, tensor, what), std::string(tensor));
}

bool take_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

void take_prefix(std::string_view& name, std::string_view prefix) {
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
}

Status add_half(AdapterFile& file, const TensorInfo& tensor, std::string_view name, bool is_down) {
  Halves& halves = file.halves[std::string(name)];
  const TensorInfo*& half = is_down ? halves.down : halves.up;
  if (half != nullptr) return in_tensor(file, tensor.name, "the adapter contains it twice");
  half = &tensor;
  return {};
}

// Metadata and tensor names of convert_lora_to_gguf.py. If other converters omit the type keys, the tensors identify
// an adapter.
Status read_gguf_halves(AdapterFile& file, std::span<const TensorInfo> tensors) {
  const Metadata& metadata = file.gguf->metadata();
  const bool has_half =
      std::ranges::any_of(tensors, [](const TensorInfo& tensor) { return tensor.name.ends_with(".lora_a"); });
  for (const auto& [key, expected] : {std::pair{"general.type", "adapter"}, std::pair{"adapter.type", "lora"}}) {
    RZ_TRY(const auto value, metadata.get_string(key));
    if (value == expected || (!value && has_half)) continue;
    return format_error(
        fmt::format("{}: {}: expected '{}', actual '{}'", file.path, key, expected, value.value_or("none")), key);
  }
  constexpr const char* kInvocation = "adapter.alora.invocation_tokens";
  if (metadata.contains(kInvocation)) {
    return unsupported(
        fmt::format("{}: {}: adapters that begin in the middle of a prompt are not supported", file.path, kInvocation),
        kInvocation);
  }
  RZ_TRY(const auto architecture, metadata.get_string("general.architecture"));
  file.architecture = architecture.value_or("");
  RZ_TRY(const auto alpha, metadata.get_double("adapter.lora.alpha"));
  for (const TensorInfo& tensor : tensors) {
    std::string_view name = tensor.name;
    const bool is_down = take_suffix(name, ".lora_a"), is_up = !is_down && take_suffix(name, ".lora_b");
    if (!is_down && !is_up) {
      return unsupported(fmt::format("{}: tensor '{}' is not part of a LoRA adapter: expected a name that ends in "
                                     ".lora_a or .lora_b",
                                     file.path, tensor.name),
                         tensor.name);
    }
    take_suffix(name, kWeightSuffix);
    RZ_CHECK_OK(add_half(file, tensor, name, is_down));
  }
  for (auto& [name, halves] : file.halves) {
    if (alpha.value_or(0) == 0 || halves.down == nullptr || halves.down->shape.empty()) continue;
    halves.scale = *alpha / static_cast<double>(std::max<uint64_t>(1, halves.down->shape.front()));
  }
  return {};
}

Status check_rank(const AdapterFile& file, const TensorInfo& down, uint64_t rank, uint32_t expected) {
  if (rank == expected) return {};
  return in_tensor(file, down.name,
                   fmt::format("expected the rank {} of adapter_config.json, actual {}", expected, rank));
}

// "q_proj.lora_A.weight", or "q_proj.lora_A.default.weight" with the adapter's name in the trainer.
bool take_peft_suffix(std::string_view& name, std::string_view half) {
  std::string_view rest = name;
  if (!take_suffix(rest, kWeightSuffix)) return false;
  if (!rest.ends_with(half)) rest = rest.substr(0, rest.rfind('.'));
  if (!take_suffix(rest, half)) return false;
  name = rest;
  return true;
}

Error no_half(const AdapterFile& file, std::string_view tensor) {
  const bool is_embedding = tensor.find(".lora_embedding_") != std::string_view::npos;
  const bool is_part = tensor.find(".lora_") != std::string_view::npos;
  const std::string_view reason =
      is_embedding ? "adapters of embeddings are not supported"
      : is_part    ? "expected the halves of matrices, lora_A.weight and lora_B.weight"
                : "expected the halves of matrices, lora_A.weight and lora_B.weight; a whole weight would replace one "
                  "that requests with other adapters share: merge it into the model";
  return unsupported(fmt::format("{}: tensor '{}' is not supported: {}", file.path, tensor, reason),
                     std::string(tensor));
}

Status read_peft_halves(AdapterFile& file, const PeftConfig& config) {
  for (const TensorInfo& tensor : file.tensors) {
    std::string_view name = tensor.name;
    take_prefix(name, kPeftPrefix);
    const bool is_down = take_peft_suffix(name, ".lora_A"), is_up = !is_down && take_peft_suffix(name, ".lora_B");
    if (!is_down && !is_up) return no_half(file, tensor.name);
    RZ_CHECK_OK(add_half(file, tensor, name, is_down));
  }
  for (auto& [name, halves] : file.halves) {
    if (halves.down == nullptr || halves.down->shape.size() != 2 || halves.down->shape.front() == 0) continue;
    const uint64_t rank = halves.down->shape.front();
    RZ_TRY(const uint32_t expected, config.rank_of(name));
    RZ_CHECK_OK(check_rank(file, *halves.down, rank, expected));
    RZ_TRY(halves.scale, config.scale_of(name, static_cast<uint32_t>(rank)));
  }
  return {};
}

// mlx-lm's names, for example model.layers.0.self_attn.q_proj.lora_a.
Status read_mlx_halves(AdapterFile& file, const MlxAdapterConfig& config) {
  for (const TensorInfo& tensor : file.tensors) {
    std::string_view name = tensor.name;
    const bool is_down = take_suffix(name, ".lora_a"), is_up = !is_down && take_suffix(name, ".lora_b");
    if (!is_down && !is_up) {
      return unsupported(fmt::format("{}: tensor '{}' is not supported: expected the halves of matrices, lora_a and "
                                     "lora_b",
                                     file.path, tensor.name),
                         tensor.name);
    }
    RZ_CHECK_OK(add_half(file, tensor, name, is_down));
  }
  for (auto& [name, halves] : file.halves) {
    halves.scale = config.scale;
    if (halves.down == nullptr || halves.down->shape.size() != 2 || !config.rank) continue;
    RZ_CHECK_OK(check_rank(file, *halves.down, file.n_rows(*halves.down), *config.rank));
  }
  return {};
}

Status open_weights(const std::filesystem::path& path, AdapterFile& file) {
  file.path = path.string();
  RZ_TRY(file.map, MappedFile::open(path));
  RZ_TRY(SafeTensors parsed, file.map.checked(parse_safetensors(file.map.bytes(), file.path)));
  if (!parsed.raws.empty()) {
    return unsupported(fmt::format("{}: tensor '{}' has an element type that weights cannot have", file.path,
                                   parsed.raws.front().name),
                       parsed.raws.front().name);
  }
  file.tensors = std::move(parsed.tensors);
  return {};
}

// A PEFT or mlx-lm folder.
Result<AdapterFile> open_folder(const std::filesystem::path& folder) {
  constexpr uint64_t kMaxConfigBytes = 1 << 20;
  const std::filesystem::path config_path = folder / "adapter_config.json";
  AdapterFile file;
  RZ_TRY(const std::string text, read_file(config_path, kMaxConfigBytes));
  RZ_TRY(const nlohmann::json root, parse_json_object(text, config_path.string()));
  if (MlxAdapterConfig::is_one(root)) {
    RZ_TRY(const MlxAdapterConfig mlx, MlxAdapterConfig::parse(root, config_path.string()));
    file.is_transposed = true;
    RZ_CHECK_OK(open_weights(folder / "adapters.safetensors", file));
    RZ_CHECK_OK(read_mlx_halves(file, mlx));
    return file;
  }
  const std::filesystem::path weights_path = folder / "adapter_model.safetensors";
  RZ_TRY(const PeftConfig config, PeftConfig::parse(text, config_path.string()));
  if (!std::filesystem::exists(weights_path) && std::filesystem::exists(folder / "adapter_model.bin")) {
    return unsupported(
        fmt::format("{}: PyTorch weights are not supported: save the adapter as adapter_model.safetensors",
                    (folder / "adapter_model.bin").string()),
        "adapter_model.bin");
  }
  RZ_CHECK_OK(open_weights(weights_path, file));
  RZ_CHECK_OK(read_peft_halves(file, config));
  return file;
}

// `path`: a folder, its adapter_config.json or its tensors; or a GGUF file.
Result<AdapterFile> open_adapter(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_folder(path);
  const std::string name = path.filename().string();
  if (name == "adapter_config.json" || name.ends_with(".safetensors")) return open_folder(path.parent_path());
  AdapterFile file;
  file.path = path.string();
  file.is_gguf = true;
  RZ_TRY(file.gguf, ModelFile::open(path));
  if (file.gguf->format() != FileFormat::kGguf) {
    return format_error(fmt::format("{}: expected a GGUF file or a folder with adapter_config.json", file.path));
  }
  RZ_CHECK_OK(file.gguf->checked(read_gguf_halves(file, file.gguf->tensors())));
  return file;
}

// Checks that both halves exist and their shapes agree. Returns the rank.
Result<uint32_t> check_halves(const AdapterFile& file, std::string_view name, const Halves& halves) {
  if (halves.down == nullptr || halves.up == nullptr) {
    const TensorInfo& there = halves.down != nullptr ? *halves.down : *halves.up;
    return in_tensor(file, there.name, fmt::format("the other half of '{}' is missing", name));
  }
  for (const TensorInfo* half : {halves.down, halves.up}) {
    if (half->shape.size() != 2) {
      return in_tensor(file, half->name,
                       fmt::format("expected a matrix, actual shape [{}]", fmt::join(half->shape, ", ")));
    }
  }
  const uint64_t rank = file.n_rows(*halves.down);
  if (rank == 0 || rank > kMaxAdapterRank) {
    return in_tensor(file, halves.down->name,
                     fmt::format("expected a rank from 1 to {}, actual {}", kMaxAdapterRank, rank));
  }
  if (file.n_cols(*halves.up) != rank) {
    return in_tensor(
        file, halves.up->name,
        fmt::format("expected the rank {} of '{}', actual {}", rank, halves.down->name, file.n_cols(*halves.up)));
  }
  return static_cast<uint32_t>(rank);
}

Result<std::vector<float>> values_of(const AdapterFile& file, const TensorInfo& tensor) {
  const TypeTraits& type = traits(tensor.type);
  const uint64_t n_cols = tensor.shape[1];
  if (n_cols % type.block_elems != 0 || tensor.packed != nullptr) {
    return in_tensor(file, tensor.name, fmt::format("its rows are not whole blocks of type {}", type.name));
  }
  if (!all_finite(tensor.type, tensor.data.data(), tensor.n_elems())) {
    return in_tensor(file, tensor.name, "it holds NaN or an infinity");
  }
  std::vector<float> values(tensor.n_elems());
  const size_t bytes = row_bytes(type, n_cols);
  for (uint64_t r = 0; r < tensor.shape[0]; ++r) {
    type.decode(tensor.data.data() + r * bytes, values.data() + r * n_cols, n_cols);
  }
  if (!file.is_transposed) return values;
  const uint64_t n_rows = tensor.shape[0];
  std::vector<float> transposed(values.size());
  for (size_t i = 0; i < values.size(); ++i) transposed[i % n_cols * n_rows + i / n_cols] = values[i];
  return transposed;
}

class Reader {
 public:
  Reader(const AdapterFile& file, const Model& model) : file_(file), targets_(model.adapter_targets()) {}

  Result<Adapter> read() {
    adapter_.pairs.resize(targets_.n_parts());
    for (const auto& [name, halves] : file_.halves) RZ_CHECK_OK(read(name, halves));
    XXH64_hash_t hash = 0;
    const auto add = [&](const void* data, size_t n_bytes) { hash = XXH3_64bits_withSeed(data, n_bytes, hash); };
    for (const AdapterPair& pair : adapter_.pairs) {
      add(&pair.rank, sizeof pair.rank);
      add(pair.down.data(), pair.down.size() * sizeof(float));
      add(pair.up.data(), pair.up.size() * sizeof(float));
    }
    adapter_.fingerprint = hash;
    return std::move(adapter_);
  }

 private:
  const TargetTensor& tensor_of(const AdapterTarget& target) const { return file_.is_gguf ? target.gguf : target.hf; }
  // PEFT's module names are those of the model's code, which may have more prefixes than the names in files.
  bool is_named(const AdapterTarget& target, std::string_view name) const {
    std::string_view own = tensor_of(target).name;
    if (own.empty()) return false;
    if (file_.is_gguf) return own == name;
    for (std::string_view* each : {&own, &name}) {
      for (const std::string_view prefix : {"model.", "language_model.", "model.", "transformer."})
        take_prefix(*each, prefix);
    }
    return own == name;
  }

  Status read(const std::string& name, const Halves& halves) {
    RZ_TRY(const uint32_t rank, check_halves(file_, name, halves));
    if (rank > targets_.slots().max_rank) {
      return unsupported(fmt::format("{}: tensor '{}': the rank {} is above the model's maximum, {}", file_.path,
                                     halves.down->name, rank, targets_.slots().max_rank),
                         "max_lora_rank");
    }
    std::vector<size_t> found;
    for (size_t i = 0; i < targets_.n_parts(); ++i) {
      if (is_named(targets_.all()[i], name)) found.push_back(i);
    }
    if (found.empty()) {
      return unsupported(fmt::format("{}: tensor '{}': adapters cannot change '{}' of this model", file_.path,
                                     halves.down->name, name),
                         name);
    }
    RZ_CHECK_OK(check_shapes(targets_.all()[found.front()], halves));
    RZ_TRY(std::vector<float> down, values_of(file_, *halves.down));
    RZ_TRY(const std::vector<float> up, values_of(file_, *halves.up));
    for (float& value : down) value = static_cast<float>(value * halves.scale);
    if (!std::ranges::all_of(down, [](float value) { return std::isfinite(value); })) {
      return in_tensor(file_, halves.down->name, "multiplied by its factor it holds NaN or an infinity");
    }
    for (const size_t i : found) {
      adapter_.pairs[i] = {rank, down, rows_of(targets_.all()[i], up, rank)};
    }
    adapter_.rank = std::max(adapter_.rank, rank);
    return {};
  }

  Status check_shapes(const AdapterTarget& target, const Halves& halves) const {
    const auto check = [&](const TensorInfo& half, std::string_view dim, uint64_t expected, uint64_t actual) -> Status {
      if (actual == expected) return {};
      return in_tensor(file_, half.name, fmt::format("expected {} {}, actual {}", expected, dim, actual));
    };
    RZ_CHECK_OK(check(*halves.down, "columns", target.n_cols, file_.n_cols(*halves.down)));
    return check(*halves.up, "rows", tensor_of(target).n_rows, file_.n_rows(*halves.up));
  }

  // The target's rows of the tensor, padded to max_rank.
  std::vector<float> rows_of(const AdapterTarget& target, const std::vector<float>& up, uint32_t rank) const {
    const uint32_t max_rank = targets_.slots().max_rank;
    std::vector<float> rows(size_t{target.n_rows} * max_rank);
    for (uint32_t r = 0; r < target.n_rows; ++r) {
      std::copy_n(up.data() + size_t{tensor_of(target).rows[r]} * rank, rank, rows.data() + size_t{r} * max_rank);
    }
    return rows;
  }

  const AdapterFile& file_;
  const AdapterTargets& targets_;
  Adapter adapter_;
};

}  // namespace

Result<uint32_t> read_adapter_rank(const std::filesystem::path& path) {
  RZ_TRY(const AdapterFile file, open_adapter(path));
  uint32_t largest = 0;
  for (const auto& [name, halves] : file.halves) {
    RZ_TRY(const uint32_t rank, check_halves(file, name, halves));
    largest = std::max(largest, rank);
  }
  if (largest == 0) return format_error(fmt::format("{}: the adapter has no tensors", file.path));
  return largest;
}

Result<Adapter> read_adapter(const std::filesystem::path& path, const Model& model) {
  RZ_TRY(const AdapterFile file, open_adapter(path));
  if (file.is_gguf && !file.architecture.empty() && file.architecture != model.config().arch) {
    return unsupported(fmt::format("{}: general.architecture: expected '{}', the model's, actual '{}'", file.path,
                                   model.config().arch, file.architecture),
                       "general.architecture");
  }
  if (file.halves.empty()) return format_error(fmt::format("{}: the adapter has no tensors", file.path));
  Result<Adapter> adapter = Reader(file, model).read();
  RZ_CHECK_OK(file.check());
  return adapter;
}

}  // namespace realizar
