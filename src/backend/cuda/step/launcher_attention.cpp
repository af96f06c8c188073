// Launches of attention: decode rows by their lists of cuts, a prompt's rows in passes of tiles.
#include <algorithm>

#include "backend/cuda/step/launcher.h"

namespace realizar::cuda {
namespace {

uint32_t n_cuts_of_tile(const StepInput::Tile& tile, uint32_t window) {
  const uint32_t last_pos = last_visible(tile.first_pos + tile.n_rows - 1, tile.last_pos, window);
  return n_cuts_between<PromptCuts>(first_visible(tile.first_pos, window), last_pos);
}

}  // namespace

void Launcher::attend_decode_rows(AttentionArgs args, const Launch& launch) {
  args.row_cuts = memory_.cut_list(launch.window_idx);
  args.n_row_cuts = memory_.n_row_cuts(args.window);
  args.pass_row_cuts = memory_.passes().n_places;
  args.arrivals = memory_.as<uint32_t>(Buffer::kArrivals);
  (is_wide(args.op) ? kernels_.attention_latent : kernels_.attention_decode)(args, device_.stream());
}

// A pass has tiles that follow each other, as many as find place with all their cuts.
void Launcher::attend_prompt_rows(AttentionArgs args) {
  const uint64_t max_tile_cuts = memory_.max_tile_cuts();
  const std::span<const StepInput::Tile> tiles = memory_.input().tiles();
  for (uint32_t i = 0; i < tiles.size(); i += args.n_tiles) {
    args.first_tile = i;
    args.n_tiles = args.n_cuts = 0;
    args.end_row = tiles[i].first_row + tiles[i].n_rows;
    for (uint32_t next = i; next < tiles.size(); ++next) {
      const uint32_t n_cuts = std::max(args.n_cuts, n_cuts_of_tile(tiles[next], args.window));
      if (args.n_tiles > 0 && n_cuts > 1 && uint64_t{args.n_tiles + 1} * n_cuts > max_tile_cuts) break;
      args.n_cuts = n_cuts;
      args.first_row = tiles[next].first_row;
      ++args.n_tiles;
    }
    kernels_.attention_prefill(args, device_.stream());
  }
}

// A pass has as many rows as find place with the most cuts of any.
void Launcher::attend_wide_rows(AttentionArgs args) {
  args.n_cuts = 1;
  for (const StepInput::Tile& tile : memory_.input().tiles()) {
    args.n_cuts = std::max(args.n_cuts, n_cuts_of_tile(tile, args.window));
  }
  const uint64_t n_fitting = args.n_cuts == 1 ? shape_.n_rows : memory_.passes().n_places / args.n_cuts;
  for (args.first_row = shape_.n_decode_rows; args.first_row < shape_.n_rows; args.first_row = args.end_row) {
    args.end_row =
        args.first_row + static_cast<uint32_t>(std::min<uint64_t>(n_fitting, shape_.n_rows - args.first_row));
    kernels_.attention_latent(args, device_.stream());
  }
}

// Tensor cores do not multiply F32.
void Launcher::run(const AttentionOp& op, const Launch& launch) {
  AttentionArgs args{};
  args.op = op;
  args.step = memory_.input().view_of(cache_.group_of(op.layer));
  args.cache = cache_.view(op.layer);
  args.out = act(op.out).values;
  args.q = act(op.q).values;
  args.window = window_of(op);
  args.sinks = weights_.vector(op.sinks);
  args.slopes = weights_.vector(op.slopes);
  args.partials = memory_.as<float>(Buffer::kPartials);
  if (cache_.common().type == KvType::kF32) {
    return kernels_.attention_plain(args, {args.step.zero, args.step.n_rows}, shape_.n_rows, device_.stream());
  }
  if (shape_.n_decode_rows > 0) attend_decode_rows(args, launch);
  if (n_prompt_rows() == 0) return;
  is_wide(op) ? attend_wide_rows(args) : attend_prompt_rows(args);
}

}  // namespace realizar::cuda
