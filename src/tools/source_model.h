// A model to quantize: what its GGUF file says and holds. Of a GGUF file that is the file itself; of a Hugging Face
// folder it is the file that realizar convert would write. Tensors are read a few rows at a time, so that a model
// larger than memory can be quantized.
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
  MatrixRows rows;              // of all dimensions but the last

  TypeId type() const { return rows->type(); }
  uint64_t n_cols() const { return rows->n_cols(); }
  uint64_t n_rows() const { return rows->n_rows(); }
  uint64_t n_mats() const;  // 1, or those of a stack
  uint64_t n_elems() const { return n_rows() * n_cols(); }
  uint64_t n_bytes() const { return n_rows() * rows->row_size(); }
};

struct SourceModel {
  GgufWriter entries;  // all that is kept of the metadata
  Metadata metadata;
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes, left_out;  // as GgufPlan's
  std::function<Status()> check;             // whether all that was read of the tensors could be read
  std::shared_ptr<const GgufKeys> keys;      // of a folder: what the metadata's views are of
};

// The file must outlive what comes of it. Errors: check_model's, and for a folder those of plan_gguf.
Result<SourceModel> source_of(const ModelFile& file, const GgufPlanOptions& options = {});

// Whether a model file is one that realizar runs, as far as that shows without reading its matrices: what the tools
// take is what `run` takes.
// Errors: those of loading the model, in the same words, for its keys and for the names, types and shapes of its
// tensors. What says that it is no model (an adapter, a projector), and a model of an architecture that this program
// does not know, pass: nothing is known of their tensors.
Status check_model(const ModelFile& file);

}  // namespace realizar
