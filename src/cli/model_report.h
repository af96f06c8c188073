// Everything known about a model file without loading its weights: whether it runs here, its size, and its abilities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/state_layout.h"
#include "formats/model_file.h"
#include "model/model_config.h"

namespace realizar::cli {

// The size of the KV cache for one request with n_ctx tokens.
struct ContextMemory {
  uint32_t n_ctx;
  uint64_t kv_bytes;
};

// How much of the model fits on this machine's GPUs, with the default context.
struct GpuReport {
  std::string refusal;  // why they cannot run it; empty: they can
  size_t n_gpus = 0;
  uint32_t n_layers = 0;  // layers that fit; the others would be transferred in each step
};

// A token that ends an answer.
struct ReportedEnd {
  int32_t id;
  std::string piece;
  std::vector<std::string> sources;  // the files, keys and names that define it
};

struct ModelReport {
  std::string name;
  std::string refusal;  // why it cannot run; empty: it can
  std::string format;   // "GGUF v3", "Hugging Face SafeTensors"
  std::string quantization;
  uint64_t file_bytes = 0, weight_bytes = 0, n_params = 0;
  std::optional<ModelConfig> config;  // nullopt if it cannot be read
  KvType kv_type = KvType::kF16;
  uint32_t n_ctx = 0;                      // by default
  uint64_t kv_bytes = 0, kv_q8_bytes = 0;  // for n_ctx positions, in kv_type and in Q8_0
  std::vector<ContextMemory> contexts;     // for 4,096 and 32,768 tokens and the trained context, as applicable
  GpuReport gpu;
  uint64_t available_bytes = 0;  // of this machine's memory; 0: unknown
  bool has_template = false, has_reasoning = false;
  std::vector<std::pair<std::string, std::string>> template_traits;  // text::listed(): what the template supports
  std::string tool_format;  // the format of tool calls, according to the template; empty: none
  std::string licence;      // empty: not in the file
  std::vector<ReportedEnd> ends;
  std::vector<std::string> notes;  // those of ModelFile and GenerationConfig

  double bits_per_weight() const;
};

ModelReport report_on(const ModelFile& file, KvType kv_type = KvType::kF16);

std::string report_text(const ModelReport& report);

}  // namespace realizar::cli
