#include "backend/cuda/step/launchers/attention_launcher.h"

#include <algorithm>

namespace realizar::cuda {
namespace {

uint32_t n_cuts_of_tile(const StepInput::Tile& tile, uint32_t window) {
  const uint32_t last_pos = last_visible(tile.first_pos + tile.n_rows - 1, tile.last_pos, window);
  return n_cuts_between<PromptCuts>(first_visible(tile.first_pos, window), last_pos);
}

}  // namespace

void AttentionLauncher::attend_decode_rows(AttentionArgs args, const Launch& launch) {
  args.row_cuts = context_.memory().cut_list(launch.window_idx);
  args.n_row_cuts = context_.memory().n_row_cuts(args.window);
  args.pass_row_cuts = context_.memory().passes().n_places;
  args.arrivals = context_.memory().as<uint32_t>(Buffer::kArrivals);
  (is_wide(args.op) ? kernels_.attention_latent : kernels_.attention_decode)(args, context_.stream());
}

// A pass has consecutive tiles, as many as fit with all their cuts.
void AttentionLauncher::attend_prompt_rows(AttentionArgs args) {
  const uint64_t max_tile_cuts = context_.memory().max_tile_cuts();
  const std::span<const StepInput::Tile> tiles = context_.memory().input().tiles();
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
    kernels_.attention_prefill(args, context_.stream());
  }
}

// A pass has as many rows as fit with the maximum number of cuts.
void AttentionLauncher::attend_wide_rows(AttentionArgs args) {
  args.n_cuts = 1;
  for (const StepInput::Tile& tile : context_.memory().input().tiles()) {
    args.n_cuts = std::max(args.n_cuts, n_cuts_of_tile(tile, args.window));
  }
  const uint64_t n_fitting =
      args.n_cuts == 1 ? context_.shape().n_rows : context_.memory().passes().n_places / args.n_cuts;
  for (args.first_row = context_.shape().n_decode_rows; args.first_row < context_.shape().n_rows;
       args.first_row = args.end_row) {
    args.end_row =
        args.first_row + static_cast<uint32_t>(std::min<uint64_t>(n_fitting, context_.shape().n_rows - args.first_row));
    kernels_.attention_latent(args, context_.stream());
  }
}

// Tensor cores do not multiply F32.
void AttentionLauncher::run(const AttentionOp& op, const Launch& launch) {
  AttentionArgs args{};
  args.op = op;
  args.step = context_.memory().input().view_of(cache_.group_of(op.layer));
  args.cache = cache_.view(op.layer);
  args.out = context_.values(op.out);
  args.q = context_.values(op.q);
  args.window = window_of(op);
  args.sinks = context_.vector(op.sinks);
  args.slopes = context_.vector(op.slopes);
  args.partials = context_.memory().as<float>(Buffer::kPartials);
  if (cache_.common().type == KvType::kF32) {
    return kernels_.attention_plain(args, {args.step.zero, args.step.n_rows}, context_.shape().n_rows,
                                    context_.stream());
  }
  if (context_.shape().n_decode_rows > 0) attend_decode_rows(args, launch);
  if (context_.n_prompt_rows() == 0) return;
  is_wide(op) ? attend_wide_rows(args) : attend_prompt_rows(args);
}

}  // namespace realizar::cuda
