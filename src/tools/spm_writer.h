// tokenizer.model of a vocabulary: a serialized sentencepiece ModelProto (fields as in sentencepiece_model.proto).
#pragma once

#include <string>

#include "tools/folder_vocab.h"

namespace realizar {

std::string sentencepiece_model(const FolderVocab& vocab);

}  // namespace realizar
