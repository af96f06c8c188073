// Adapters with random matrices for tiny models: as files of both forms, and the model's weights with them merged in.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "support/safetensors_writer.h"
#include "support/tiny_model.h"

namespace realizar::test {

struct MadePair {
  uint32_t rank, n_rows, n_cols;
  std::vector<float> down, up;  // [rank, n_cols], [n_rows, rank]

  // Its addition to an element of the matrix, without its factor.
  double at(uint32_t row, uint32_t col) const {
    double sum = 0;
    for (uint32_t k = 0; k < rank; ++k) sum += double{up[row * rank + k]} * down[k * n_cols + col];
    return sum;
  }
};

// By the name of the model's tensor, without ".weight".
using MadeAdapter = std::map<std::string, MadePair>;

inline MadePair random_pair(uint32_t rank, uint32_t n_rows, uint32_t n_cols, uint32_t seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<float> value(-0.3f, 0.3f);
  MadePair pair{rank, n_rows, n_cols, std::vector<float>(rank * n_cols), std::vector<float>(n_rows * rank)};
  for (float& x : pair.down) x = value(bits);
  for (float& x : pair.up) x = value(bits);
  return pair;
}

// In the format of convert_lora_to_gguf.py.
inline GgufWriter gguf_adapter(const MadeAdapter& adapter, std::string_view architecture, float alpha) {
  GgufWriter writer;
  writer.add_string("general.type", "adapter");
  writer.add_string("adapter.type", "lora");
  writer.add_string("general.architecture", architecture);
  writer.add_f32("adapter.lora.alpha", alpha);
  for (const auto& [name, pair] : adapter) {
    writer.add_tensor(name + ".weight.lora_a", TypeId::kF32, {pair.rank, pair.n_cols}, pair.down);
    writer.add_tensor(name + ".weight.lora_b", TypeId::kF32, {pair.n_rows, pair.rank}, pair.up);
  }
  return writer;
}

// In the format of PEFT's save_pretrained(); others have names that begin differently, or more in the middle of them.
inline void write_peft_adapter(const std::filesystem::path& folder, const MadeAdapter& adapter,
                               const nlohmann::json& config, const std::string& begin = "base_model.model.",
                               const std::string& middle = "") {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "adapter_config.json") << config.dump();
  SafetensorsWriter writer;
  for (const auto& [name, pair] : adapter) {
    const std::string own = begin + name;
    writer.add(own + ".lora_A" + middle + ".weight", "F32", {pair.rank, pair.n_cols},
               std::as_bytes(std::span(pair.down)));
    writer.add(own + ".lora_B" + middle + ".weight", "F32", {pair.n_rows, pair.rank},
               std::as_bytes(std::span(pair.up)));
  }
  writer.write(folder / "adapter_model.safetensors");
}

// [n_rows, n_cols] -> [n_cols, n_rows]
inline std::vector<float> turned(const std::vector<float>& values, uint32_t n_cols) {
  std::vector<float> result(values.size());
  const size_t n_rows = values.size() / n_cols;
  for (size_t i = 0; i < values.size(); ++i) result[i % n_cols * n_rows + i / n_cols] = values[i];
  return result;
}

// In the format of mlx-lm.
inline void write_mlx_adapter(const std::filesystem::path& folder, const MadeAdapter& adapter,
                              const nlohmann::json& config) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "adapter_config.json") << config.dump();
  MadeAdapter own;
  for (const auto& [name, pair] : adapter) {
    own[name] = {pair.rank, pair.n_rows, pair.n_cols, turned(pair.down, pair.n_cols), turned(pair.up, pair.rank)};
  }
  SafetensorsWriter writer;
  for (const auto& [name, pair] : own) {
    writer.add(name + ".lora_a", "F32", {pair.n_cols, pair.rank}, std::as_bytes(std::span(pair.down)));
    writer.add(name + ".lora_b", "F32", {pair.rank, pair.n_rows}, std::as_bytes(std::span(pair.up)));
  }
  writer.write(folder / "adapters.safetensors");
}

inline nlohmann::json peft_config(uint32_t rank, float alpha) {
  return {{"peft_type", "LORA"},
          {"r", rank},
          {"lora_alpha", alpha},
          {"bias", "none"},
          {"use_dora", false},
          {"use_rslora", false},
          {"modules_to_save", nullptr},
          {"rank_pattern", nlohmann::json::object()},
          {"alpha_pattern", nlohmann::json::object()},
          {"task_type", "CAUSAL_LM"}};
}

// weights += factor * up . down, in the order of the model's rows. A head that is the embeddings becomes a tensor.
inline void merge_into(TinyModel& model, const MadeAdapter& adapter, double factor) {
  for (const auto& [name, pair] : adapter) {
    const bool has_head =
        std::ranges::any_of(model.tensors, [](const auto& own) { return own.name == "output.weight"; });
    if (name == "output" && !has_head) {
      TinyTensor head = model.tensor("token_embd.weight");
      head.name = "output.weight";
      head.role = Role::kHead;
      model.tensors.push_back(std::move(head));
    }
    TinyTensor& tensor = model.tensor(name + ".weight");
    for (uint32_t row = 0; row < pair.n_rows; ++row) {
      for (uint32_t col = 0; col < pair.n_cols; ++col) {
        float& weight = tensor.values[size_t{row} * pair.n_cols + col];
        weight = static_cast<float>(weight + factor * pair.at(row, col));
      }
    }
  }
}

}  // namespace realizar::test
