// A layer as the list of its steps, in the order of computation.
#pragma once

#include <cstdint>
#include <span>

namespace realizar {

// Position of the norms in a layer.
enum class NormPlace : uint8_t {
  kPre,            // before each branch (Llama)
  kPost,           // after each branch (OLMo 2)
  kSandwich,       // before and after each branch (Gemma 2)
  kParallel,       // one norm for mixer and ffn, which are computed in parallel (Phi-2)
  kParallelApart,  // one norm each for mixer and ffn, which are computed in parallel (GPT-NeoX)
  kOfStream,       // on the residual stream, after each branch is added (BERT)
  kParallelToLast  // before the ffn; the mixer reads the input of the previous layer's mixer (Falcon-H1)
};

// A branch (mixer or ffn) reads the last norm before it, or the stream if there is none.
enum class LayerStep : uint8_t {
  kNormMixer,  // of the stream, if the layer has this norm
  kReadLast,   // the mixer reads the input of the previous layer's mixer
  kMixer,
  kPostNormMixer,  // of the mixer's output
  kAdd,            // the branch or its norm to the stream, as part of the previous operation
  kNormStream,     // the stream becomes its norm, with the weights of the mixer's norm
  kNormFfn,        // of the stream
  kNormFfnApart,   // of the stream, kept until kReadApart while the mixer adds to the stream
  kReadApart,
  kFfn,
  kPostNormFfn,
  kNormStreamLast,  // the stream becomes its norm, with the weights of the ffn's norm
};

struct LayerForm {
  const char* name;
  std::span<const LayerStep> steps;

  bool has(LayerStep step) const;
};
const LayerForm& form_of(NormPlace place);

}  // namespace realizar
