#include "model/streams/altup.h"

#include <cmath>
#include <string>

#include "base/check.h"
#include "base/try.h"
#include "model/arch/arch_spec.h"
#include "model/layer_builder.h"
#include "model/tensor_binder.h"

namespace realizar {
namespace {

// Added to the mean square of a rescaled row, so that zeros stay zeros. transformers clamps to 1e-5, and llama.cpp does
// nothing: rows of trained models are far above both.
constexpr float kLeastPower = 1e-12f;

// [n_rows, n_streams]: the router of `in`. transformers, Gemma3nTextAltUp: it reads the norm divided by d_model.
ActId route_streams(LayerBuilder& b, ActId in) {
  const AltUpWeights& w = b.weights().altup;
  const ActId router = b.scratch("altup_router", b.config().altup.n_streams), normed = b.acts().normed;
  b.add(NormOp{.out = normed,
               .in = in,
               .weight = w.router_norm,
               .kind = b.norm_kind(),
               .eps = b.norm_eps(),
               .place = b.place(OpRole::kRouter)});
  b.add(LinearOp{.out = router,
                 .in = normed,
                 .weight = w.router,
                 .epilogue = {.scale = 1 / static_cast<float>(b.d_model()), .softcap = 1.0f},  // tanh
                 .place = b.place(OpRole::kRouter)});
  return router;
}

}  // namespace

uint64_t size_of(const AltUpConfig& c, Dim dim) {
  switch (dim) {
    case Dim::kStreams:
      return c.n_streams;
    case Dim::kOtherStreams:
      return c.n_streams - 1;
    case Dim::kStreamPairs:
      return uint64_t{c.n_streams} * c.n_streams;
    case Dim::kLaurelRank:
      return c.laurel_rank;
    default:
      return 0;
  }
}

Result<AltUpEnds> bind_ends(const AltUpConfig& c, TensorBinder& tensors) {
  AltUpEnds w;
  if (c.n_streams == 1) return w;
  RZ_TRY(w.projs, tensors.matrices(Role::kAltUpProj));
  RZ_TRY(w.unembeds, tensors.matrices(Role::kAltUpUnembed));
  return w;
}

Result<AltUpWeights> bind(const AltUpConfig& c, TensorBinder& tensors) {
  AltUpWeights w;
  if (c.n_streams > 1) {
    RZ_TRY(w.router_norm, tensors.norm(Role::kAltUpRouterNorm));
    RZ_TRY(w.router, tensors.matrix(Role::kAltUpRouter));
    RZ_TRY(w.predict, tensors.vector(Role::kAltUpPredict));
    RZ_TRY(w.correct, tensors.vector(Role::kAltUpCorrect));
    RZ_TRY(w.scale, tensors.vector(Role::kAltUpScale));
  }
  if (c.laurel_rank > 0) {
    RZ_TRY(w.laurel_left, tensors.matrix(Role::kLaurelLeft));
    RZ_TRY(w.laurel_right, tensors.matrix(Role::kLaurelRight));
    RZ_TRY(w.laurel_norm, tensors.norm(Role::kLaurelNorm));
  }
  return w;
}

Streams add_streams(Program& program, const ModelConfig& c) {
  Streams streams = kNoStreams;
  for (uint32_t i = 0; i < c.altup.n_streams; ++i) {
    streams[i] = program.add_activation("stream" + std::to_string(i), c.d_model);
  }
  return streams;
}

void fill_streams(Program& program, const AltUpConfig& c, const AltUpEnds& w, const Streams& streams) {
  const OpPlace place{OpRole::kInput};
  for (uint32_t i = 1; i < c.n_streams; ++i) {
    program.add(LinearOp{.out = streams[i], .in = streams[0], .weight = w.projs[i - 1], .place = place});
  }
  for (uint32_t i = 1; i < c.n_streams; ++i) {
    program.add(NormOp{.out = streams[i], .in = streams[i], .like = streams[0], .eps = kLeastPower, .place = place});
  }
}

void add_mean_of_streams(Program& program, const ModelConfig& c, const AltUpEnds& w, const Streams& streams,
                         ActId mean) {
  const uint32_t n_streams = c.altup.n_streams;
  const ActId first = program.add_activation("first", c.d_model, Rows::kLogits);
  const ActId other = program.add_activation("other", c.d_model, Rows::kLogits);
  const ActId unembedded = program.add_activation("unembedded", c.d_model, Rows::kLogits);
  const OpPlace place{OpRole::kFinal};
  program.add(SelectRowsOp{.out = first, .in = streams[0]});
  program.add(SelectRowsOp{.out = mean, .in = streams[0]});
  for (uint32_t i = 1; i < n_streams; ++i) {
    program.add(SelectRowsOp{.out = other, .in = streams[i]});
    program.add(
        LinearOp{.out = unembedded, .in = other, .weight = w.unembeds[i - 1], .rows = Rows::kLogits, .place = place});
    program.add(NormOp{.out = mean,
                       .in = unembedded,
                       .like = first,
                       .eps = kLeastPower,
                       .accumulate = true,
                       .scale = i + 1 == n_streams ? 1 / static_cast<float>(n_streams) : 1.0f,
                       .rows = Rows::kLogits,
                       .place = place});
  }
}

void predict_streams(LayerBuilder& b) {
  const Streams& streams = b.acts().streams;
  b.add(AltUpOp{.x = b.stream(),
                .streams = streams,
                .n_streams = b.config().altup.n_streams,
                .router = route_streams(b, streams[0]),
                .coefs = b.weights().altup.predict,
                .place = b.place()});
}

void correct_streams(LayerBuilder& b) {
  b.add(AltUpOp{.x = b.stream(),
                .streams = b.acts().streams,
                .n_streams = b.config().altup.n_streams,
                .router = route_streams(b, b.stream()),
                .coefs = b.weights().altup.correct,
                .scale = b.weights().altup.scale,
                .corrects = true,
                .place = b.place()});
}

void add_laurel(LayerBuilder& b) {
  const LayerWeights& w = b.weights();
  const ActId low = b.scratch("laurel", b.config().altup.laurel_rank), branch = b.acts().branch;
  REQUIRE(b.has_post_norm() && b.in() != b.stream());
  b.add_norm(b.stream(), b.stream(), w.attn_norm, OpRole::kNone);
  b.add(LinearOp{.out = low, .in = b.in(), .weight = w.altup.laurel_left, .place = b.place()});
  b.add(LinearOp{.out = branch, .in = low, .weight = w.altup.laurel_right, .place = b.place()});
  b.add_norm(b.stream(), branch, w.altup.laurel_norm, OpRole::kNone);
}

float laurel_scale(const AltUpConfig& c) {
  return c.laurel_rank > 0 ? std::sqrt(0.5f) : 1.0f;
}

}  // namespace realizar
