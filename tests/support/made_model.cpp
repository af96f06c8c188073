#include "support/made_model.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "base/mapped_file.h"
#include "base/temp_folder.h"
#include "base/try.h"
#include "support/tiny_model.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;

struct Wanted {
  TinyDims dims{.n_layers = 2,
                .d_model = 64,
                .n_heads = 4,
                .n_kv_heads = 2,
                .head_dim = 16,
                .d_ff = 80,
                .n_vocab = 320,
                .n_ctx = 4096,
                .n_experts = 4,
                .n_used = 2,
                .expert_d_ff = 48};
  bool with_experts = false, with_words = false;
  TypeId large_type = TypeId::kF32;
  uint32_t seed = 7;
  std::vector<std::string> without;
  std::vector<std::pair<std::string, std::string>> keys;
};

uint32_t* dimension(TinyDims& dims, const std::string& name) {
  const std::pair<const char*, uint32_t*> kList[] = {{"n_layers", &dims.n_layers},
                                                     {"d_model", &dims.d_model},
                                                     {"n_heads", &dims.n_heads},
                                                     {"n_kv_heads", &dims.n_kv_heads},
                                                     {"head_dim", &dims.head_dim},
                                                     {"d_ff", &dims.d_ff},
                                                     {"n_vocab", &dims.n_vocab},
                                                     {"n_ctx", &dims.n_ctx},
                                                     {"n_experts", &dims.n_experts},
                                                     {"n_used", &dims.n_used},
                                                     {"expert_d_ff", &dims.expert_d_ff},
                                                     {"expert_latent", &dims.expert_latent},
                                                     {"shared_d_ff", &dims.shared_d_ff},
                                                     {"n_dense", &dims.n_dense},
                                                     {"expert_interval", &dims.expert_interval},
                                                     {"d_layer_input", &dims.d_layer_input},
                                                     {"window_head_dim", &dims.window_head_dim},
                                                     {"window_kv_heads", &dims.window_kv_heads},
                                                     {"full_interval", &dims.full_interval},
                                                     {"n_shared_kv", &dims.n_shared_kv},
                                                     {"attend_interval", &dims.attend_interval},
                                                     {"q_rank", &dims.q_rank},
                                                     {"latent", &dims.latent},
                                                     {"n_rot", &dims.n_rot},
                                                     {"d_value", &dims.d_value},
                                                     {"n_taps", &dims.n_taps},
                                                     {"n_turned", &dims.n_turned},
                                                     {"n_labels", &dims.n_labels},
                                                     {"ssm_heads", &dims.ssm_heads},
                                                     {"ssm_head_dim", &dims.ssm_head_dim},
                                                     {"ssm_groups", &dims.ssm_groups},
                                                     {"ssm_state", &dims.ssm_state},
                                                     {"ssm_dt_rank", &dims.ssm_dt_rank},
                                                     {"decay_rank", &dims.decay_rank},
                                                     {"rate_rank", &dims.rate_rank},
                                                     {"v_rank", &dims.v_rank},
                                                     {"gate_rank", &dims.gate_rank}};
  for (const auto& [known, value] : kList) {
    if (name == known) return value;
  }
  return nullptr;
}

void set(Wanted& wanted, const std::string& name, const std::string& value) {
  if (uint32_t* dim = dimension(wanted.dims, name)) {
    *dim = static_cast<uint32_t>(std::stoul(value));
  } else if (name == "experts") {
    wanted.with_experts = value == "1";
  } else if (name == "words") {
    wanted.with_words = value == "1";
  } else if (name == "large_type") {
    wanted.large_type = value == "BF16" ? TypeId::kBF16 : TypeId::kF32;
  } else if (name == "keys_as_values") {
    wanted.dims.has_keys_as_values = value == "1";
  } else if (name == "plain_latents") {
    wanted.dims.has_plain_latents = value == "1";
  } else if (name == "grows") {
    wanted.dims.grows = value == "1";
  } else if (name == "ffn_biases") {
    wanted.dims.has_ffn_biases = value == "1";
  } else if (name == "seed") {
    wanted.seed = static_cast<uint32_t>(std::stoul(value));
  } else if (name == "without") {
    wanted.without.push_back(value);
  } else {
    wanted.keys.emplace_back(name, value);
  }
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

// Lists of numbers, of booleans and of words become arrays.
void add_key(GgufWriter& writer, const std::string& key, const std::string& value) {
  if (value == "true" || value == "false") return writer.add_bool(key, value == "true");
  if (value.starts_with('[')) {
    std::vector<int32_t> numbers;
    std::vector<float> reals;
    std::vector<std::string> words;
    bool is_real = false;
    for (size_t at = 1; at < value.size();) {
      const size_t end = value.find_first_of(",]", at);
      const std::string item = value.substr(at, end - at);
      if (item == "true" || item == "false") {
        numbers.push_back(item == "true");
      } else if (!is_number(item)) {
        words.push_back(item);
      } else {
        const float real = std::stof(item);
        is_real = is_real || item.find('.') != std::string::npos;
        numbers.push_back(std::isfinite(real) ? static_cast<int32_t>(std::stod(item)) : 0);
        reals.push_back(real);
      }
      at = end + 1;
    }
    if (!words.empty()) return writer.add_strings(key, words);
    if (reals.empty()) return writer.add_bools(key, std::vector<bool>(numbers.begin(), numbers.end()));
    return is_real ? writer.add_f32s(key, reals) : writer.add_i32s(key, numbers);
  }
  if (!is_number(value)) return writer.add_string(key, value);
  if (value.find_first_of(".e") != std::string::npos) return writer.add_f32(key, std::stof(value));
  writer.add_u32(key, static_cast<uint32_t>(std::stoul(value)));
}

void add_words(GgufWriter& writer, uint32_t n_vocab) {
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  while (tokens.size() < n_vocab) tokens.push_back("\u2581w" + std::to_string(tokens.size()));
  writer.add_string("tokenizer.ggml.model", "bert");
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_u32("tokenizer.ggml.padding_token_id", 0);
  writer.add_u32("tokenizer.ggml.unknown_token_id", 1);
  writer.add_u32("tokenizer.ggml.bos_token_id", 2);
  writer.add_u32("tokenizer.ggml.seperator_token_id", 3);  // the key's actual spelling
}

// Some tensors in the form of published files, which a peer requires: with the one channel of these convolutions and
// mixes, and with tensors that RWKV's first layer does not use, which files have as another copy of those for its
// rates.
void make_as_in_files(std::vector<TinyTensor>& tensors) {
  std::vector<TinyTensor> unused;
  for (TinyTensor& tensor : tensors) {
    const bool has_channel = tensor.role >= Role::kConvQ && tensor.role <= Role::kConvV;
    if (has_channel) tensor.shape.insert(tensor.shape.begin() + 1, 1);
    if (tensor.role == Role::kShifts) tensor.shape.insert(tensor.shape.begin() + 1, 2, 1);
    const size_t at = tensor.name.find("blk.0.time_mix_a");
    if (at != std::string::npos) unused.emplace_back(tensor).name[tensor.name.find("_a") + 1] = 'v';
  }
  tensors.insert(tensors.end(), unused.begin(), unused.end());
}

GgufWriter writer_of(const ArchSpec& spec, const Wanted& wanted) {
  TinyModel model = tiny_model(spec, wanted.with_experts, wanted.dims, wanted.seed);
  const std::string arch(spec.name);
  std::erase_if(model.tensors, [&](const TinyTensor& tensor) {
    return std::ranges::any_of(wanted.without, [&](const std::string& part) {
      return tensor.name == part || tensor.name.ends_with("." + part);
    });
  });
  make_as_in_files(model.tensors);
  // A peer then needs no vocabulary.
  if (!wanted.with_words) model.keys["tokenizer.ggml.model"] = std::string("none");
  model.keys[arch + ".vocab_size"] = wanted.dims.n_vocab;
  for (const auto& [name, value] : wanted.keys) model.keys.erase(arch + "." + name);
  model.large_type = wanted.large_type;
  GgufWriter writer = model.writer();
  if (wanted.with_words) add_words(writer, wanted.dims.n_vocab);
  for (const auto& [name, value] : wanted.keys) add_key(writer, arch + "." + name, value);
  return writer;
}

nlohmann::json manifest_of(const fs::path& folder) {
  std::ifstream in(folder / "manifest.json");
  return nlohmann::json::parse(in, nullptr, false);
}

// The manifest's entries with words, by name.
std::map<std::string, nlohmann::json> made_entries(const fs::path& folder) {
  std::map<std::string, nlohmann::json> entries;
  const auto manifest = manifest_of(folder);
  if (manifest.is_discarded()) return entries;
  for (const char* list : {"models", "rerankers", "stand_ins"}) {
    for (const auto& model : manifest.value(list, nlohmann::json::array())) {
      if (model.contains("made")) entries.emplace(model["name"], model);
    }
  }
  return entries;
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string hex_hash(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

// A model must be the one that the reference logits were computed for.
Status check_hash(const nlohmann::json& entry, const MadeHash& actual) {
  const std::string name = entry["name"];
  if (!entry.contains("hash")) {
    return format_error(fmt::format("{}: the manifest has no hash of it; expected {}", name, to_string(actual)), name);
  }
  const auto check = [&](const char* what, const char* part, const std::string& hash) -> Status {
    const std::string expected = entry["hash"].value(part, "");
    if (hash == expected) return {};
    return format_error(fmt::format("{}: its {} are made in another way than before, and reference logits are of the "
                                    "model as it was: expected the hash {}, actual {}",
                                    name, what, expected, hash),
                        name);
  };
  RZ_CHECK_OK(check("weights", "weights", actual.weights));
  return check("metadata or the names, shapes and types of its tensors", "head", actual.head);
}

}  // namespace

std::optional<GgufWriter> made_model(const std::vector<std::string>& words) {
  Wanted wanted;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t at = words[i].find('=');
    if (at != std::string::npos) set(wanted, words[i].substr(0, at), words[i].substr(at + 1));
  }
  for (const ArchSpec* spec : all_architectures()) {
    if (!words.empty() && test_name(*spec) == words[0]) return writer_of(*spec, wanted);
  }
  return std::nullopt;
}

Result<MadeHash> hash_of(const GgufWriter& writer, const fs::path& path) {
  RZ_TRY(const MappedFile file, MappedFile::open(path));
  const size_t n_head = writer.header().size();
  return MadeHash{hex_hash(file.bytes().first(n_head)), hex_hash(file.bytes().subspan(n_head))};
}

std::string to_string(const MadeHash& hash) {
  return fmt::format(R"("hash": {{"head": "{}", "weights": "{}"}})", hash.head, hash.weights);
}

std::vector<std::string> words_for(const fs::path& folder, const std::string& name) {
  const auto entries = made_entries(folder);
  const auto entry = entries.find(name);
  return entry == entries.end() ? std::vector<std::string>() : split(entry->second["made"]);
}

std::vector<std::string> made_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : made_entries(folder)) names.push_back(name);
  return names;
}

std::vector<int> tokens_for(const fs::path& folder, const std::string& name) {
  std::ifstream in(folder / (name + ".tokens.json"));
  const auto json = nlohmann::json::parse(in);
  return json.is_array() ? json : json["tokens"];
}

Result<ModelFile> open_conformance(const fs::path& folder, const std::string& name) {
  if (fs::exists(folder / (name + ".gguf"))) return ModelFile::open(folder / (name + ".gguf"));
  const auto entries = made_entries(folder);
  const auto entry = entries.find(name);
  if (entry == entries.end()) return ModelFile::open(folder / name);
  const auto writer = made_model(split(entry->second["made"]));
  if (!writer) return not_found(fmt::format("{}: no row of the architecture table has this name", name), name);
  const TempFolder temp;
  const fs::path path = temp / (name + ".gguf");
  RZ_CHECK_OK(writer->write(path));
  RZ_TRY(const MadeHash hash, hash_of(*writer, path));
  RZ_CHECK_OK(check_hash(entry->second, hash));
  return ModelFile::open(path);  // the map keeps it
}

}  // namespace realizar::test
