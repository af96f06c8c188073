// Whether a model file is one that realizar runs, as far as that shows without reading its matrices: what the tools
// take is what `run` takes.
#pragma once

#include "formats/model_file.h"
#include "realizar/result.h"

namespace realizar {

// Errors: those of loading the model, in the same words, for its keys and for the names, types and shapes of its
// tensors. What says that it is no model (an adapter, a projector), and a model of an architecture that this program
// does not know, pass: nothing is known of their tensors.
Status check_model(const ModelFile& file);

}  // namespace realizar
