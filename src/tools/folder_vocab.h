// A Hugging Face folder's vocabulary as GGUF's keys have it.
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
  std::vector<float> scores;  // none where the model has no use for them
  std::optional<uint32_t> bos, eos, eot, eom, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces, lowercase, strip_accents;
  std::vector<uint32_t> end_ids, no_end_ids;  // kEndIdsKey and kNoEndIdsKey; none where the other keys say it all
  std::vector<uint8_t> charsmap;
  std::vector<std::string> notes;  // in what the vocabulary differs from the folder's, a sentence each
};

// `n_tokens`: rows of the embedding; ids that the tokenizer leaves out become unused tokens. `arch`: GGUF's name of the
// architecture. `pre`: the pre-tokenizer's name, or "": find it. `changes`: to where answers end. The vocabulary that
// comes of it cuts texts as the folder's own does: that is tried on some. Errors: FormatError, and Unsupported for a
// tokenizer that GGUF has no name for.
Result<FolderVocab> read_folder_vocab(const SideFiles& side, const Metadata& config, const std::string& arch,
                                      uint32_t n_tokens, const std::string& pre, const EndSettings& changes = {});

// Views into `vocab`.
text::GgufVocab as_gguf_vocab(const FolderVocab& vocab);

// The vocabulary that a GGUF file's metadata holds. Ids of special tokens that are not in the vocabulary are left out.
// Errors: FormatError for a key of the wrong type.
Result<FolderVocab> read_file_vocab(const Metadata& metadata);

// tokenizer.model of a vocabulary: a serialized sentencepiece ModelProto (fields as in sentencepiece_model.proto).
std::string sentencepiece_model(const FolderVocab& vocab);

// The name that llama.cpp's converter, which knows tokenizers by the ids that they give a text, writes as
// tokenizer.ggml.pre for this one; "" for one that it does not know.
std::string_view known_pre_tokenizer(const text::Tokenizer& tokenizer);

}  // namespace realizar
