// A model to quantize: the content of a GGUF file, or of the GGUF file that realizar convert would write for a Hugging
// Face folder. Tensors are read a few rows at a time, so that a model larger than memory can be quantized.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "formats/model_file.h"
#include "realizar/result.h"
#include "tools/conversion.h"
#include "tools/row_source.h"

namespace realizar {

struct SourceTensor {
  std::string name;
  std::vector<uint64_t> shape;  // outermost first
  MatrixRows rows;              // over all dimensions except the last

  TypeId type() const { return rows->type(); }
  uint64_t n_cols() const { return rows->n_cols(); }
  uint64_t n_rows() const { return rows->n_rows(); }
  uint64_t n_mats() const;  // 1, or the number in a stack
  uint64_t n_elems() const { return n_rows() * n_cols(); }
  uint64_t n_bytes() const { return n_rows() * rows->row_size(); }
};

struct SourceModel {
  GgufWriter entries;  // the metadata that is kept
  Metadata metadata;
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes, left_out;  // as in GgufPlan
  std::function<Status()> check;             // whether all tensors were read without errors
  std::shared_ptr<const GgufKeys> keys;      // for a folder: owner of the data that the metadata views
};

// The file must outlive the result. Errors: those of check_model, and for a folder those of plan_gguf.
Result<SourceModel> source_of(const ModelFile& file, const GgufPlanOptions& options = {});

// Whether realizar can run a model file, as far as that shows without reading its matrices: the tools accept what `run`
// accepts.
// Errors: those of loading the model, with the same messages, for its keys and for the names, types and shapes of its
// tensors. A file that declares itself not to be a model (an adapter, a projector), and a model of an unknown
// architecture, are accepted: nothing is known about their tensors.
Status check_model(const ModelFile& file);

}  // namespace realizar
