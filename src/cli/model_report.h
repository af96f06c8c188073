// What there is to know of a model file without loading its weights: whether it runs here, how large it is, and what it
// can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/state_layout.h"
#include "formats/model_file.h"
#include "model/model_config.h"

namespace realizar::cli {

// What the KV cache takes where one request has n_ctx tokens.
struct ContextMemory {
  uint32_t n_ctx;
  uint64_t kv_bytes;
};

// What of the model the GPUs of this machine would hold, with the default context.
struct GpuReport {
  std::string refusal;  // why they cannot run it; empty: they can
  size_t n_gpus = 0;
  uint32_t n_layers = 0;  // that find room; the others would come over in each step
};

// A token that ends an answer.
struct ReportedEnd {
  int32_t id;
  std::string piece;
  std::vector<std::string> sources;  // the files, keys and names that say so
};

struct ModelReport {
  std::string name;
  std::string refusal;  // why it cannot run; empty: it can
  std::string format;   // "GGUF v3", "Hugging Face SafeTensors"
  std::string quantization;
  uint64_t file_bytes = 0, weight_bytes = 0, n_params = 0;
  std::optional<ModelConfig> config;  // nothing where it cannot be read
  KvType kv_type = KvType::kF16;
  uint32_t n_ctx = 0;                      // by default
  uint64_t kv_bytes = 0, kv_q8_bytes = 0;  // of n_ctx positions, in kv_type and in Q8_0
  std::vector<ContextMemory> contexts;     // 4,096 and 32,768 tokens and all that it was trained for, as far as it goes
  GpuReport gpu;
  uint64_t available_bytes = 0;  // of this machine's memory; 0: not known
  bool has_template = false, has_reasoning = false;
  std::vector<std::pair<std::string, std::string>> template_traits;  // text::told(): what the template can take
  std::string tool_format;  // in which the model calls tools, by its template; empty: in none
  std::string licence;      // empty: the file does not tell
  std::vector<ReportedEnd> ends;
  std::vector<std::string> notes;  // ModelFile::notes(), and GenerationConfig's

  double bits_per_weight() const;
};

ModelReport report_on(const ModelFile& file, KvType kv_type = KvType::kF16);

std::string report_text(const ModelReport& report);

}  // namespace realizar::cli
