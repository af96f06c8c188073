// The files of a Hugging Face folder other than its weights: the tokenizer, its settings, the template, and a file for
// GGUF keys that none of these can hold.
#pragma once

#include "formats/model_file.h"
#include "model/model_config.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "tools/conversion.h"
#include "tools/folder_vocab.h"

namespace realizar {

// "gguf_metadata.json": GGUF keys that are restored from it on the way back, such as a model's licence and author.
inline constexpr const char* kGgufMetadataFile = "gguf_metadata.json";

// Errors: FormatError (a damaged vocabulary), Unsupported (one that no folder can hold), InvalidArgument (a change that
// names no token).
Status add_folder_files(const ModelFile& gguf, const ModelConfig& config, HfPlan& plan,
                        const EndSettings& changes = {});

// Reads the keys of that file if the folder has it. Errors: FormatError.
Status read_kept_keys(const ModelFile& folder, GgufKeys& keys);

}  // namespace realizar
