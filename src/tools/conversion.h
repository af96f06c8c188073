// What a model file of the other format would hold: its metadata and its tensors, whose rows are made when they are
// asked for. Nothing is written here; tools/convert.h writes it, and quantizing takes the rows from it.
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
  MatrixRows rows;              // all elements in the order of the shape, in the type that the source has
  // What a file keeps in F32 whatever the others become: vectors, tables of positions, routers, convolutions.
  bool is_f32 = false;
};

struct GgufPlan {
  GgufKeys keys;
  std::vector<PlannedTensor> tensors;
  // Tensors of the source that have no part in the model, by their names.
  std::vector<std::string> left_out;
  // In what the file differs from the folder, a sentence each.
  std::vector<std::string> notes;
};

struct GgufPlanOptions {
  std::string pre_tokenizer;  // tokenizer.ggml.pre, where the folder's own cannot be named; "": find it
  EndSettings ends = {};
};

// A Hugging Face folder as GGUF. The folder must outlive what comes of it. Errors: Unsupported (what GGUF cannot say of
// this model: the plan's metadata is read back, and must give the model that the folder gives), and what reading the
// folder's config, tensors and tokenizer gives.
Result<GgufPlan> plan_gguf(const ModelFile& folder, const GgufPlanOptions& options = {});

struct HfPlan {
  std::string config;  // config.json
  std::vector<PlannedTensor> tensors;
  std::map<std::string, std::string> side_files;  // by name: the tokenizer, its settings, the template
  std::vector<std::string> left_out, notes;       // as GgufPlan's
};

// A GGUF file as a Hugging Face folder, of the first of transformers' classes that computes what the file says. Errors:
// Unsupported, where there is none, or for a vocabulary that no folder has.
Result<HfPlan> plan_hf(const ModelFile& gguf, const EndSettings& ends = {});

// Whether two files are of the same model, by what their configs compute, whatever order their rows have:
// the first thing in which they differ, as "line of the one, line of the other"; nothing where they compute the same.
// Numbers may differ by what F32 rounds. Factors that GGUF has in the weights count as 1.
std::optional<std::string> difference(const ModelConfig& source, const ModelConfig& made);

}  // namespace realizar
