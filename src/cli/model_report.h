// What there is to know of a model file without loading its weights: whether it runs here, how large it is, and what it
// can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/model_file.h"
#include "model/model_config.h"

namespace realizar::cli {

struct ModelReport {
  std::string name;
  std::string refusal;  // why it cannot run; empty: it can
  std::string format;   // "GGUF v3", "Hugging Face SafeTensors"
  std::string quantization;
  uint64_t file_bytes = 0, weight_bytes = 0, n_params = 0;
  std::optional<ModelConfig> config;       // nothing where it cannot be read
  uint32_t n_ctx = 0;                      // by default
  uint64_t kv_bytes = 0, kv_q8_bytes = 0;  // of n_ctx positions, in F16 and in Q8_0
  uint64_t available_bytes = 0;            // of this machine's memory; 0: not known
  bool has_template = false, has_tools = false, has_reasoning = false;
  std::string licence;  // empty: the file does not tell

  double bits_per_weight() const;
};

// Errors: FormatError where the file could not be read.
ModelReport report_on(const ModelFile& file);

std::string report_text(const ModelReport& report);

// By general.file_type, else the type that most weights have: "Q4_K_M", "F16".
std::string quantization_name(const ModelFile& file);

}  // namespace realizar::cli
