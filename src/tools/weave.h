// Tensors that one format keeps apart and the other one in one, and how their rows lie there.
#pragma once

#include <span>
#include <vector>

#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "tools/row_source.h"

namespace realizar {

// `whole` is made of `parts`. Of vectors and of rows that are woven element by element `is_of_elements`.
struct Fusion {
  Role whole;
  std::vector<Role> parts;
  bool is_of_elements = false;
};
std::span<const Fusion> fusions();

// The rows of `n_mats` matrices, each with runs[i] of piece i after each other.
struct Weave {
  uint64_t n_mats = 1;
  std::vector<uint64_t> runs = {};
  std::vector<size_t> n_pieces = {};  // of each of the fusion's parts, which has the pieces below each other
};
// How a fused tensor's rows lie in files of a format, for a layer of the model as its config counts them; nothing where
// the layer has no such parts.
std::optional<Weave> weave_of(const Fusion& fusion, const ArchSpec& spec, const LayerConfig& layer, bool is_hf);

// The part's rows of the whole, and the whole of its parts.
MatrixRows unwoven(MatrixRows whole, const Weave& weave, size_t part);
MatrixRows woven(const std::vector<MatrixRows>& parts, const Weave& weave);

}  // namespace realizar
