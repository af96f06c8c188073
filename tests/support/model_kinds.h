// The kinds of parts of a model, as words: its mixers, ffns, norms and rotations, without their sizes; its tensors'
// names, without the numbers of layers; and the types of their weights.
#pragma once

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "formats/model_file.h"
#include "model/model_config.h"
#include "quant/types.h"

namespace realizar::test {

inline std::set<std::string> kinds_of(const ModelConfig& config, const ModelFile& file) {
  static const std::regex kSizes("(arch|name|n_layers|d_model|d_ff|n_vocab|n_ctx_train|n_ctx|n_layer_vocab): .*");
  static const std::regex kLayers("^layers? [0-9]+( to [0-9]+)?: "), kBetween("[,;] ");
  // Sizes and factors differ among models of a kind; 0 and 1 often mean that a part is missing.
  static const std::regex kNumber("-?\\b(?![01](?![0-9.e]))[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?");
  std::set<std::string> kinds;
  std::istringstream lines(to_string(config));
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, kSizes)) continue;
    line = std::regex_replace(std::regex_replace(line, kLayers, ""), kNumber, "N");
    std::istringstream parts(std::regex_replace(line, kBetween, "\n"));
    for (std::string part; std::getline(parts, part);) kinds.insert(part);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    kinds.insert("weights of " + std::string(traits(tensor.type).name));
    kinds.insert(std::regex_replace(tensor.name, kNumber, "N"));
  }
  return kinds;
}

}  // namespace realizar::test
