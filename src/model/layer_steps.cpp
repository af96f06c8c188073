#include "model/layer_steps.h"

#include <algorithm>

namespace realizar {
namespace {

using enum LayerStep;

constexpr LayerStep kPre[] = {kNormMixer, kMixer, kAdd, kNormFfn, kFfn, kAdd};
constexpr LayerStep kPost[] = {kMixer, kPostNormMixer, kAdd, kFfn, kPostNormFfn, kAdd};
constexpr LayerStep kSandwich[] = {kNormMixer, kMixer, kPostNormMixer, kAdd, kNormFfn, kFfn, kPostNormFfn, kAdd};
constexpr LayerStep kParallel[] = {kNormMixer, kMixer, kAdd, kFfn, kAdd};
constexpr LayerStep kParallelApart[] = {kNormFfnApart, kNormMixer, kMixer, kAdd, kReadApart, kFfn, kAdd};
constexpr LayerStep kOfStream[] = {kMixer, kAdd, kNormStream, kFfn, kAdd, kNormStreamLast};
constexpr LayerStep kParallelToLast[] = {kReadLast, kMixer, kAdd, kNormFfn, kFfn, kAdd};

// In the order of NormPlace.
constexpr LayerForm kForms[] = {{"before each branch", kPre},
                                {"after each branch", kPost},
                                {"before and after each branch", kSandwich},
                                {"one for mixer and ffn in parallel", kParallel},
                                {"one each for mixer and ffn in parallel", kParallelApart},
                                {"on the stream after each branch", kOfStream},
                                {"before the ffn, with the mixer in parallel with the previous one", kParallelToLast}};

}  // namespace

bool LayerForm::has(LayerStep step) const {
  return std::ranges::find(steps, step) != steps.end();
}

const LayerForm& form_of(NormPlace place) {
  return kForms[static_cast<size_t>(place)];
}

}  // namespace realizar
