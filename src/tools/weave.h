// Tensors that are separate in one format and fused in the other, and the layout of their rows.
#pragma once

#include <span>
#include <vector>

#include "model/arch/arch_spec.h"
#include "model/model_config.h"
#include "tools/row_source.h"

namespace realizar {

// `whole` consists of `parts`. `is_of_elements`: vectors, and rows that are interleaved element by element.
struct Fusion {
  Role whole;
  std::vector<Role> parts;
  bool is_of_elements = false;
};
std::span<const Fusion> fusions();

// The rows of `n_mats` matrices, each with runs[i] rows of piece i in order.
struct Weave {
  uint64_t n_mats = 1;
  std::vector<uint64_t> runs = {};
  std::vector<size_t> n_pieces = {};  // for each of the fusion's parts, which concatenates its pieces
};
// The layout of a fused tensor's rows in files of a format, for a layer of the model's config; nullopt if the layer has
// no such parts.
std::optional<Weave> weave_of(const Fusion& fusion, const ArchSpec& spec, const LayerConfig& layer, bool is_hf);

// unwoven(): the part's rows of the whole. Below: the whole from its parts.
MatrixRows unwoven(MatrixRows whole, const Weave& weave, size_t part);
MatrixRows woven(const std::vector<MatrixRows>& parts, const Weave& weave);

}  // namespace realizar
