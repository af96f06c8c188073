#include "model/layer_steps.h"

#include <algorithm>

namespace realizar {
namespace {

using enum Step;

constexpr Step kPre[] = {kNormMixer, kMixer, kAdd, kNormFfn, kFfn, kAdd};
constexpr Step kPost[] = {kMixer, kPostNormMixer, kAdd, kFfn, kPostNormFfn, kAdd};
constexpr Step kSandwich[] = {kNormMixer, kMixer, kPostNormMixer, kAdd, kNormFfn, kFfn, kPostNormFfn, kAdd};
constexpr Step kParallel[] = {kNormMixer, kMixer, kAdd, kFfn, kAdd};
constexpr Step kParallelApart[] = {kNormFfnApart, kNormMixer, kMixer, kAdd, kReadApart, kFfn, kAdd};
constexpr Step kOfStream[] = {kMixer, kAdd, kNormStream, kFfn, kAdd, kNormStreamLast};
constexpr Step kBesideLast[] = {kReadLast, kMixer, kAdd, kNormFfn, kFfn, kAdd};

// In the order of NormPlace.
constexpr LayerForm kForms[] = {{"before each branch", kPre},
                                {"after each branch", kPost},
                                {"before and after each branch", kSandwich},
                                {"one for mixer and ffn in parallel", kParallel},
                                {"one each for mixer and ffn in parallel", kParallelApart},
                                {"of the stream after each branch", kOfStream},
                                {"before the ffn, with the mixer beside that of the layer before", kBesideLast}};

}  // namespace

bool LayerForm::has(Step step) const {
  return std::ranges::find(steps, step) != steps.end();
}

const LayerForm& form_of(NormPlace place) {
  return kForms[static_cast<size_t>(place)];
}

}  // namespace realizar
