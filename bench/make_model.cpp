// Writes a GGUF file of random weights in the shape of a known model, for measurements: loading and running such a file
// costs as much as the real one. The weights are written piece by piece from a pool of encoded random values. --memory
// writes no file: it prints docs/models.md's table of the memory for such models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/try.h"
#include "formats/gguf_writer.h"
#include "formats/model_file.h"
#include "text/tokenizer/byte_spelling.h"

using namespace realizar;

namespace {

struct Shape {
  const char* name;
  const char* arch;
  const char* pre_tokenizer;
  uint32_t n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, n_vocab, n_ctx;
  float rope_theta;
  bool tied = true;         // no output matrix of its own
  bool rope_freqs = false;  // Llama 3's table
  bool qkv_bias = false;    // Qwen2
  bool qk_norm = false;     // Qwen3
  uint32_t n_experts = 0, n_experts_used = 0, expert_d_ff = 0;
};

// From each model's config.json; "-cut" has fewer layers, so that the file stays small.
const Shape kShapes[] = {
    {"llama-3.2-1b", "llama", "llama-bpe", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 500000, true, true},
    {"llama-3.1-8b", "llama", "llama-bpe", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 500000, false, true},
    {"tinyllama-1.1b", "llama", "llama-bpe", 22, 2048, 32, 4, 64, 5632, 32000, 2048, 10000, false},
    {"qwen2.5-0.5b", "qwen2", "qwen2", 24, 896, 14, 2, 64, 4864, 151936, 32768, 1e6F, true, false, true},
    {"qwen2.5-1.5b", "qwen2", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, 32768, 1e6F, true, false, true},
    {"qwen3moe-cut", "qwen3moe", "qwen2", 4, 2048, 32, 4, 128, 6144, 151936, 40960, 1e6F, false, false, false, true,
     128, 8, 768},
    {"qwen3-30b-a3b", "qwen3moe", "qwen2", 48, 2048, 32, 4, 128, 6144, 151936, 40960, 1e6F, false, false, false, true,
     128, 8, 768},
    {"tiny", "llama", "llama-bpe", 2, 256, 4, 2, 64, 512, 1024, 2048, 10000},
};

constexpr float kWeightStd = 0.02F;  // GPT-2's initialisation: activations stay near 1 at these widths
constexpr float kNormEps = 1e-5F;

enum class Use { kPlain, kSensitive, kOutput };  // kSensitive: attn_v and ffn_down, for which the mix keeps more bits

// The layers with more bits in llama.cpp's "M" mixes: the first and last eighth, and every third between.
bool keeps_more_bits(uint32_t layer, uint32_t n_layers) {
  return layer < n_layers / 8 || layer >= 7 * n_layers / 8 || (layer - n_layers / 8) % 3 == 2;
}

// A row whose length is not a multiple of 256 gets the nearest type with smaller blocks.
TypeId fit_to_row(TypeId type, uint64_t row_elems) {
  if (row_elems % traits(type).block_elems == 0) return type;
  switch (type) {
    case TypeId::kQ4_K:
      return TypeId::kQ5_0;
    case TypeId::kQ5_K:
      return TypeId::kQ5_1;
    case TypeId::kQ6_K:
      return TypeId::kQ8_0;
    default:
      return TypeId::kIQ4_NL;
  }
}

struct Mix {
  TypeId base;
  bool more_bits;  // "_M": half of the sensitive matrices in Q6_K

  TypeId pick(Use use, uint32_t layer, uint32_t n_layers) const {
    const bool is_plain_or_8_bit = traits(base).block_elems == 1 || base == TypeId::kQ8_0;
    if (is_plain_or_8_bit) return base;
    if (use == Use::kOutput) return TypeId::kQ6_K;
    return more_bits && use == Use::kSensitive && keeps_more_bits(layer, n_layers) ? TypeId::kQ6_K : base;
  }
};

// Encoded random blocks, about a million elements per type. A tensor reads them in a circle from its own starting
// point; the number of blocks is a prime, so rows of any length begin at different blocks.
class RandomBlocks {
 public:
  explicit RandomBlocks(uint32_t seed) : random_(seed) {}

  GgufWriter::TensorSource source(TypeId type) {
    const std::shared_ptr<const std::vector<std::byte>> pool = pool_of(type);
    const uint64_t start = random_() % (pool->size() / traits(type).block_bytes) * traits(type).block_bytes;
    return [pool, start](uint64_t offset, std::span<std::byte> out) {
      uint64_t at = (start + offset) % pool->size();
      while (!out.empty()) {
        const size_t n = std::min<size_t>(out.size(), pool->size() - at);
        std::copy_n(pool->begin() + static_cast<ptrdiff_t>(at), n, out.begin());
        out = out.subspan(n);
        at = 0;
      }
    };
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> pool_of(TypeId type) {
    auto& pool = pools_[type];
    if (pool) return pool;
    const TypeTraits& t = traits(type);
    const size_t n_blocks = t.block_elems == 1 ? 1048573 : t.block_elems == 32 ? 32749 : 4093;
    std::vector<float> values(n_blocks * t.block_elems);
    std::normal_distribution<float> normal(0, kWeightStd);
    for (float& value : values) value = normal(random_);
    auto encoded = std::make_shared<std::vector<std::byte>>(n_blocks * t.block_bytes);
    t.encode(values.data(), encoded->data(), values.size());
    return pool = encoded;
  }

  std::mt19937 random_;
  std::map<TypeId, std::shared_ptr<const std::vector<std::byte>>> pools_;
};

// A byte-level BPE vocabulary: the 256 bytes, then pairs of bytes, then pairs and a byte, each by one merge; at the end
// a begin and an end token.
void add_vocabulary(GgufWriter& writer, const Shape& shape) {
  const auto byte = [](size_t i) { return std::string(text::spell_byte(static_cast<uint8_t>(i))); };
  std::vector<std::string> tokens, merges;
  for (size_t i = 0; i < 256; ++i) tokens.push_back(byte(i));
  const size_t n_merged = shape.n_vocab - 256 - 2;
  for (size_t i = 0; i < n_merged; ++i) {
    // Merge i joins tokens i / 256 and i % 256; the first 256 of the left parts are the bytes, followed by the pairs.
    merges.push_back(tokens[i / 256] + " " + byte(i % 256));
    tokens.push_back(tokens[i / 256] + byte(i % 256));
  }
  tokens.push_back("<|begin|>");
  tokens.push_back("<|end|>");
  std::vector<int32_t> types(tokens.size() - 2, 1);  // normal
  types.insert(types.end(), 2, 3);                   // control
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", shape.pre_tokenizer);
  writer.add_strings("tokenizer.ggml.tokens", tokens);
  writer.add_i32s("tokenizer.ggml.token_type", types);
  writer.add_strings("tokenizer.ggml.merges", merges);
  writer.add_u32("tokenizer.ggml.bos_token_id", shape.n_vocab - 2);
  writer.add_u32("tokenizer.ggml.eos_token_id", shape.n_vocab - 1);
  writer.add_string("tokenizer.chat_template",
                    "{% for m in messages %}{{ m.role + ':' + m.content + '\n' }}{% endfor %}"
                    "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}");
}

void add_config(GgufWriter& writer, const Shape& shape) {
  const auto key = [&](const char* name) { return std::string(shape.arch) + "." + name; };
  writer.add_string("general.architecture", shape.arch);
  writer.add_string("general.name", std::string(shape.name) + " of random weights");
  writer.add_u32("general.quantization_version", 2);
  writer.add_u32(key("block_count"), shape.n_layers);
  writer.add_u32(key("context_length"), shape.n_ctx);
  writer.add_u32(key("embedding_length"), shape.d_model);
  writer.add_u32(key("feed_forward_length"), shape.d_ff);
  writer.add_u32(key("attention.head_count"), shape.n_heads);
  writer.add_u32(key("attention.head_count_kv"), shape.n_kv_heads);
  writer.add_u32(key("attention.key_length"), shape.head_dim);
  writer.add_u32(key("attention.value_length"), shape.head_dim);
  writer.add_f32(key("attention.layer_norm_rms_epsilon"), kNormEps);
  writer.add_u32(key("rope.dimension_count"), shape.head_dim);
  writer.add_f32(key("rope.freq_base"), shape.rope_theta);
  writer.add_u32(key("vocab_size"), shape.n_vocab);
  if (shape.n_experts == 0) return;
  writer.add_u32(key("expert_count"), shape.n_experts);
  writer.add_u32(key("expert_used_count"), shape.n_experts_used);
  writer.add_u32(key("expert_feed_forward_length"), shape.expert_d_ff);
}

// Llama 3.2's table of divisors: low frequencies by 32, high ones by 1, smooth between (its config.json: factor 32,
// low_freq_factor 1, high_freq_factor 4, original_max_position_embeddings 8192).
std::vector<float> llama3_rope_freqs(const Shape& shape) {
  std::vector<float> divisors;
  for (uint32_t i = 0; i < shape.head_dim / 2; ++i) {
    const double wavelength = 2 * M_PI * std::pow(shape.rope_theta, 2.0 * i / shape.head_dim);
    const double smooth = std::clamp((8192 / wavelength - 1) / (4 - 1), 0.0, 1.0);
    divisors.push_back(static_cast<float>(1 / ((1 - smooth) / 32 + smooth)));
  }
  return divisors;
}

class ModelMaker {
 public:
  // With the vocabulary of `vocab_file`, which has shape.n_vocab tokens; null: a generated one.
  ModelMaker(const Shape& shape, Mix mix, uint32_t seed, const ModelFile* vocab_file = nullptr)
      : shape_(shape), mix_(mix), blocks_(seed), vocab_file_(vocab_file) {}

  GgufWriter make() {
    add_config(writer_, shape_);
    vocab_file_ == nullptr ? add_vocabulary(writer_, shape_) : copy_vocabulary();
    const uint64_t d_model = shape_.d_model;
    add_matrix("token_embd.weight", {shape_.n_vocab, d_model}, shape_.tied ? Use::kOutput : Use::kPlain, 0);
    if (!shape_.tied) add_matrix("output.weight", {shape_.n_vocab, d_model}, Use::kOutput, 0);
    add_ones("output_norm.weight", d_model);
    if (shape_.rope_freqs) {
      writer_.add_tensor("rope_freqs.weight", TypeId::kF32, {shape_.head_dim / 2}, llama3_rope_freqs(shape_));
    }
    for (uint32_t layer = 0; layer < shape_.n_layers; ++layer) add_layer(layer);
    return std::move(writer_);
  }

 private:
  void copy_vocabulary() {
    for (const GgufEntry& entry : vocab_file_->gguf_entries()) {
      if (entry.key.starts_with("tokenizer.")) writer_.add_stored(entry.key, entry.value);
    }
  }

  void add_layer(uint32_t layer) {
    const std::string blk = "blk." + std::to_string(layer) + ".";
    const uint64_t d_model = shape_.d_model;
    const uint64_t d_q = uint64_t{shape_.n_heads} * shape_.head_dim;
    const uint64_t d_kv = uint64_t{shape_.n_kv_heads} * shape_.head_dim;
    add_ones(blk + "attn_norm.weight", d_model);
    add_matrix(blk + "attn_q.weight", {d_q, d_model}, Use::kPlain, layer);
    add_matrix(blk + "attn_k.weight", {d_kv, d_model}, Use::kPlain, layer);
    add_matrix(blk + "attn_v.weight", {d_kv, d_model}, Use::kSensitive, layer);
    add_matrix(blk + "attn_output.weight", {d_model, d_q}, Use::kPlain, layer);
    if (shape_.qkv_bias) {
      add_floats(blk + "attn_q.bias", {d_q});
      add_floats(blk + "attn_k.bias", {d_kv});
      add_floats(blk + "attn_v.bias", {d_kv});
    }
    if (shape_.qk_norm) {
      add_ones(blk + "attn_q_norm.weight", shape_.head_dim);
      add_ones(blk + "attn_k_norm.weight", shape_.head_dim);
    }
    add_ones(blk + "ffn_norm.weight", d_model);
    add_ffn(blk, layer);
  }

  void add_ffn(const std::string& blk, uint32_t layer) {
    const uint64_t d_model = shape_.d_model;
    if (shape_.n_experts == 0) {
      add_matrix(blk + "ffn_gate.weight", {shape_.d_ff, d_model}, Use::kPlain, layer);
      add_matrix(blk + "ffn_up.weight", {shape_.d_ff, d_model}, Use::kPlain, layer);
      add_matrix(blk + "ffn_down.weight", {d_model, shape_.d_ff}, Use::kSensitive, layer);
      return;
    }
    const uint64_t n_experts = shape_.n_experts, d_ff = shape_.expert_d_ff;
    add_floats(blk + "ffn_gate_inp.weight", {n_experts, d_model});
    add_matrix(blk + "ffn_gate_exps.weight", {n_experts, d_ff, d_model}, Use::kPlain, layer);
    add_matrix(blk + "ffn_up_exps.weight", {n_experts, d_ff, d_model}, Use::kPlain, layer);
    add_matrix(blk + "ffn_down_exps.weight", {n_experts, d_model, d_ff}, Use::kSensitive, layer);
  }

  void add_matrix(const std::string& name, std::vector<uint64_t> shape, Use use, uint32_t layer) {
    const TypeId type = fit_to_row(mix_.pick(use, layer, shape_.n_layers), shape.back());
    writer_.add_tensor(name, type, std::move(shape), blocks_.source(type));
  }

  void add_floats(const std::string& name, std::vector<uint64_t> shape) {
    writer_.add_tensor(name, TypeId::kF32, std::move(shape), blocks_.source(TypeId::kF32));
  }

  void add_ones(const std::string& name, uint64_t n) {
    writer_.add_tensor(name, TypeId::kF32, {n}, std::vector<float>(n, 1.0F));
  }

  const Shape& shape_;
  const Mix mix_;
  RandomBlocks blocks_;
  const ModelFile* vocab_file_;
  GgufWriter writer_;
};

const Shape* find_shape(const std::string& name) {
  for (const Shape& shape : kShapes) {
    if (name == shape.name) return &shape;
  }
  return nullptr;
}

// "Q4_K_M" is Q4_K with more bits in some matrices, "Q4_K" without; any other name means only that type.
std::optional<Mix> find_mix(std::string name) {
  const bool more_bits = name.ends_with("_K_M");
  if (more_bits) name.resize(name.size() - 2);
  for (const TypeTraits& type : all_types()) {
    if (name == type.name && is_in_gguf(type.id)) return Mix{type.id, more_bits};
  }
  return std::nullopt;
}

// Keys and values of `n_tokens` positions in F16.
uint64_t kv_bytes(const Shape& shape, uint64_t n_tokens) {
  return uint64_t{2} * 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * n_tokens;
}

// A Markdown table: weights of each shape in the usual types, and the KV cache of two contexts.
void print_memory() {
  constexpr double kGb = 1e9;
  std::printf("| model | Q4_K_M | Q5_K_M | Q6_K | Q8_0 | F16 | KV cache, 8,192 tokens | 32,768 tokens |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const char* name : {"llama-3.2-1b", "llama-3.1-8b", "qwen3-30b-a3b"}) {
    const Shape& shape = *find_shape(name);
    std::printf("| %s |", name);
    for (const char* type : {"Q4_K_M", "Q5_K_M", "Q6_K", "Q8_0", "F16"}) {
      const GgufWriter model = ModelMaker(shape, *find_mix(type), 1).make();
      std::printf(" %.2f GB |", static_cast<double>(model.tensor_bytes()) / kGb);
    }
    for (const uint64_t n_tokens : {8192, 32768}) {
      std::printf(" %.2f GB |", static_cast<double>(kv_bytes(shape, n_tokens)) / kGb);
    }
    std::printf("\n");
  }
}

Status write_model(Shape shape, Mix mix, uint32_t seed, const std::string& vocab_path, const std::string& out) {
  if (vocab_path.empty()) return ModelMaker(shape, mix, seed).make().write(out);
  RZ_TRY(const ModelFile vocab_file, ModelFile::open(vocab_path));
  RZ_TRY(const auto tokens, vocab_file.metadata().get_strings("tokenizer.ggml.tokens"));
  if (!tokens) return invalid_argument(vocab_path + " has no vocabulary");
  shape.n_vocab = static_cast<uint32_t>(tokens->size());
  return ModelMaker(shape, mix, seed, &vocab_file).make().write(out);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a GGUF file of random weights in the shape of a known model.");
  std::string shape_name = "llama-3.2-1b", type_name = "Q4_K_M", vocab_path, out;
  uint32_t seed = 1;
  bool prints_memory = false;
  app.add_option("--shape", shape_name,
                 "llama-3.2-1b, llama-3.1-8b, tinyllama-1.1b, qwen2.5-0.5b, qwen2.5-1.5b, qwen3moe-cut, qwen3-30b-a3b, "
                 "tiny");
  app.add_option("--type", type_name, "Q4_K_M, Q5_K_M or the name of a type: Q4_0, Q8_0, F16, ...");
  app.add_option("--seed", seed, "Seed of the random weights");
  app.add_option("--vocab-of", vocab_path, "GGUF file whose vocabulary the model gets, which can then draft for it");
  CLI::Option* out_option = app.add_option("out", out, "The file to write");
  app.add_flag("--memory", prints_memory, "Print what models take in memory, and write nothing")->excludes(out_option);
  CLI11_PARSE(app, argc, argv);
  if (prints_memory) {
    print_memory();
    return 0;
  }
  if (out.empty()) {
    std::fprintf(stderr, "expected the file to write\n");
    return 2;
  }
  const Shape* shape = find_shape(shape_name);
  const std::optional<Mix> mix = find_mix(type_name);
  if (shape == nullptr || !mix) {
    std::fprintf(stderr, "unknown %s\n", shape == nullptr ? shape_name.c_str() : type_name.c_str());
    return 2;
  }
  const Status written = write_model(*shape, *mix, seed, vocab_path, out);
  if (!written.ok()) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
