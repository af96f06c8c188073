#include "cli/rank_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/printable.h"
#include "formats/model_file.h"

namespace realizar::cli {
namespace {

using ranks::Shared;

const char* name_of(Shared shared) {
  switch (shared) {
    case Shared::kRows:
      return "rows";
    case Shared::kCols:
      return "columns";
    case Shared::kMats:
      return "experts";
    case Shared::kNothing:
      break;
  }
  return "whole";
}

std::string shape_text(const SharedMatrices& m) {
  const std::string one = fmt::format("[{}, {}]", m.n_rows, m.n_cols);
  return m.n_mats == 1 ? one : fmt::format("{} x {}", m.n_mats, one);
}

std::vector<uint32_t> shares_of(const SharedMatrices& m, size_t n_ranks) {
  std::vector<uint32_t> shares;
  for (uint32_t rank = 0; rank < n_ranks; ++rank) {
    shares.push_back(m.sharing.sharing.of(rank, static_cast<uint32_t>(n_ranks)).n);
  }
  return shares;
}

std::string line_of(const SharedMatrices& m, size_t n_ranks) {
  std::string how = name_of(m.sharing.shared);
  if (m.sharing.shared != Shared::kNothing) how += fmt::format(": {}", fmt::join(shares_of(m, n_ranks), ", "));
  return fmt::format("{:<44} {:>4} x {:<22} {:<8} {}\n", printable(m.name), m.n, shape_text(m), traits(m.type).name,
                     how);
}

}  // namespace

std::string rank_text(const RankShares& shares, Split split) {
  const size_t n_ranks = shares.weight_bytes.size();
  std::string text = fmt::format("\nshared by {} ranks with --split {}\n", n_ranks, option_name(split));
  for (size_t rank = 0; rank < n_ranks; ++rank) {
    const std::string layers = shares.layers.empty() ? ""
                                                     : fmt::format(", layers {} to {}", shares.layers[rank].first,
                                                                   shares.layers[rank].end - 1);
    text += fmt::format("rank {:<4} {:>10.1f} MB of weights{}\n", rank,
                        static_cast<double>(shares.weight_bytes[rank]) / 1e6, layers);
  }
  if (!shares.layers.empty()) return text;
  for (const SharedMatrices& m : shares.matrices) text += line_of(m, n_ranks);
  return text;
}

nlohmann::ordered_json rank_json(const RankShares& shares, Split split) {
  const size_t n_ranks = shares.weight_bytes.size();
  nlohmann::ordered_json json{{"split", option_name(split)}, {"weight_bytes", shares.weight_bytes}};
  for (const ranks::LayerRange& range : shares.layers) json["layers"].push_back({range.first, range.end});
  if (!shares.layers.empty()) return json;
  for (const SharedMatrices& m : shares.matrices) {
    nlohmann::ordered_json row{{"name", m.name},
                               {"type", traits(m.type).name},
                               {"n", m.n},
                               {"shape", {m.n_mats, m.n_rows, m.n_cols}},
                               {"shared", name_of(m.sharing.shared)}};
    if (m.sharing.shared != Shared::kNothing) row["shares"] = shares_of(m, n_ranks);
    json["matrices"].push_back(std::move(row));
  }
  return json;
}

}  // namespace realizar::cli
