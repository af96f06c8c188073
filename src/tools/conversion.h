// Describes a model in the other format: its metadata and its tensors, whose rows are made on demand. Nothing is
// written here; tools/convert.h writes the file, and quantizing reads the rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "tools/gguf_keys.h"
#include "tools/row_source.h"

namespace realizar {

struct PlannedTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  MatrixRows rows;              // all elements in the order of the shape, in the source's type
  // Tensors that stay in F32 whatever the others become: vectors, position tables, routers, convolutions.
  bool is_f32 = false;
};

struct GgufPlan {
  GgufKeys keys;
  std::vector<PlannedTensor> tensors;
  // Names of source tensors that are not part of the model.
  std::vector<std::string> left_out;
  // Differences between the file and the folder, a sentence each.
  std::vector<std::string> notes;
};

struct GgufPlanOptions {
  std::string pre_tokenizer;  // tokenizer.ggml.pre, if the folder's tokenizer has no known name; "": detected
  EndSettings ends = {};
};

// Converts a Hugging Face folder to GGUF. The folder must outlive the plan. Errors: Unsupported if GGUF cannot express
// the model (the plan's metadata is read back, and must give the folder's model), and errors of reading the folder's
// config, tensors and tokenizer.
Result<GgufPlan> plan_gguf(const ModelFile& folder, const GgufPlanOptions& options = {});

struct HfPlan {
  std::string config;  // config.json
  std::vector<PlannedTensor> tensors;
  std::map<std::string, std::string> side_files;  // by file name: the tokenizer, its settings, the template
  std::vector<std::string> left_out, notes;       // as in GgufPlan
};

// Converts a GGUF file to a Hugging Face folder, for the first of transformers' classes that computes the file's model.
// Errors: Unsupported if there is none, or for a vocabulary that no folder can hold.
Result<HfPlan> plan_hf(const ModelFile& gguf, const EndSettings& ends = {});

// Compares two files by what their configs compute, regardless of row order:
// returns the first difference, as "line of the one, line of the other", or nullopt if they compute the same. Numbers
// may differ by F32 rounding. Factors that GGUF folds into the weights count as 1.
std::optional<std::string> difference(const ModelConfig& source, const ModelConfig& made);

}  // namespace realizar
