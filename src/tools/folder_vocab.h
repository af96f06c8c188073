// A Hugging Face folder's vocabulary in the form of GGUF's keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/metadata.h"
#include "formats/model_file.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "text/tokenizer/tokenizer.h"

namespace realizar {

struct FolderVocab {
  std::string model, pre;  // tokenizer.ggml.model and .pre
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types;
  std::vector<float> scores;  // empty if the model does not use them
  std::optional<uint32_t> bos, eos, eot, eom, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
  std::vector<uint32_t> end_ids, no_end_ids;  // kEndIdsKey and kNoEndIdsKey; empty if the other keys suffice
  std::vector<uint8_t> charsmap;
  std::vector<std::string> notes;  // differences from the folder's vocabulary, a sentence each
};

// `n_tokens`: rows of the embedding; ids without a token become unused tokens. `arch`: GGUF's name of the architecture.
// `pre`: the pre-tokenizer's name, or "": detected. `changes`: to the end tokens. The resulting vocabulary tokenizes
// texts like the folder's own, which is tested on a few. Errors: FormatError, and Unsupported for a tokenizer that GGUF
// has no name for.
Result<FolderVocab> read_folder_vocab(const SideFiles& side, const Metadata& config, const std::string& arch,
                                      uint32_t n_tokens, const std::string& pre, const EndSettings& changes = {});

// Views into `vocab`.
text::GgufVocab as_gguf_vocab(const FolderVocab& vocab);

// The vocabulary in a GGUF file's metadata. Ids of special tokens outside the vocabulary are left out. Errors:
// FormatError for a key of the wrong type.
Result<FolderVocab> read_file_vocab(const Metadata& metadata);

// The content of tokenizer.model for a vocabulary: a serialized sentencepiece ModelProto (fields as in
// sentencepiece_model.proto).
std::string sentencepiece_model(const FolderVocab& vocab);

// The value of tokenizer.ggml.pre that llama.cpp's converter, which identifies tokenizers by their ids for a text,
// writes for this one; "" if it does not know it.
std::string_view known_pre_tokenizer(const text::Tokenizer& tokenizer);

}  // namespace realizar
