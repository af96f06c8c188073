// The vocabulary that a GGUF file's metadata holds, in the form that a folder's has (folder_vocab.h).
#pragma once

#include "formats/metadata.h"
#include "realizar/result.h"
#include "tools/folder_vocab.h"

namespace realizar {

// Ids of special tokens that are not in the vocabulary are left out. Errors: FormatError for a key of the wrong type.
Result<FolderVocab> read_file_vocab(const Metadata& metadata);

}  // namespace realizar
