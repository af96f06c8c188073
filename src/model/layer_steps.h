// A layer as a list of steps, in the order in which they are computed.
#pragma once

#include <cstdint>
#include <span>

namespace realizar {

// Where norms stand in a layer: before each branch (Llama); after it alone (OLMo 2); before and after it (Gemma 2); one
// norm feeding mixer and ffn, which are added to the residual together (Phi-2); the same with a norm for each
// (GPT-NeoX); of the residual itself, after each branch is added (BERT); before the ffn alone, while the mixer reads
// what that of the layer before it read (Falcon-H1).
enum class NormPlace : uint8_t { kPre, kPost, kSandwich, kParallel, kParallelApart, kOfStream, kBesideLast };

// A branch, mixer or ffn, reads the last norm that was made before it, or else the stream.
enum class LayerStep : uint8_t {
  kNormMixer,      // of the stream, where the layer has this norm
  kReadLast,       // the mixer reads what that of the layer before it read
  kMixer,          // a branch
  kPostNormMixer,  // of what it gives
  kAdd,            // the branch, or its norm, to the stream: the operation before it does so by itself
  kNormStream,     // the stream becomes its norm, by the weights of the mixer's norm
  kNormFfn,        // of the stream
  kNormFfnApart,   // the same, kept until kReadApart while the mixer adds to the stream
  kReadApart,
  kFfn,  // a branch
  kPostNormFfn,
  kNormStreamLast,  // as kNormStream, by the weights of the ffn's norm
};

struct LayerForm {
  const char* name;
  std::span<const LayerStep> steps;

  bool has(LayerStep step) const;
};
const LayerForm& form_of(NormPlace place);

}  // namespace realizar
