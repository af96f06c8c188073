// The files of a Hugging Face folder beside its weights: the tokenizer, its settings, the template, and what GGUF says
// that none of them has a place for.
#pragma once

#include "formats/model_file.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "tools/conversion.h"
#include "tools/folder_vocab.h"

namespace realizar {

// "gguf_metadata.json": keys of GGUF's that the way back takes from there, such as a model's licence and author.
inline constexpr const char* kGgufMetadataFile = "gguf_metadata.json";

// Errors: FormatError (a vocabulary that is damaged), Unsupported (one that no folder has), InvalidArgument (a change
// that names no token).
Status add_folder_files(const ModelFile& gguf, const ModelConfig& config, HfPlan& plan,
                        const EndSettings& changes = {});

// The keys of a folder that has them. Errors: FormatError.
Status read_kept_keys(const ModelFile& folder, GgufKeys& keys);

}  // namespace realizar
