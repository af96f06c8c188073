#include "tools/folder_vocab.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace realizar {
namespace {

// The wire format of protocol buffers (protobuf.dev, "Encoding").
class ProtoMessage {
 public:
  void add_number(uint32_t field, uint64_t value) {
    add_varint(field << 3);
    add_varint(value);
  }
  void add_bytes(uint32_t field, std::string_view bytes) {
    add_varint(field << 3 | 2);
    add_varint(bytes.size());
    bytes_ += bytes;
  }
  void add_float(uint32_t field, float value) {
    add_varint(field << 3 | 5);
    char stored[sizeof value];
    std::memcpy(stored, &value, sizeof value);
    bytes_.append(stored, sizeof stored);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Below 0: none.
uint64_t id_or_none(std::optional<uint32_t> id) {
  return id ? uint64_t{*id} : ~uint64_t{0};
}

}  // namespace

std::string sentencepiece_model(const FolderVocab& vocab) {
  constexpr uint64_t kUnigram = 1, kBpe = 2;
  ProtoMessage model, trainer, normalizer;
  for (size_t i = 0; i < vocab.tokens.size(); ++i) {
    ProtoMessage piece;
    piece.add_bytes(1, vocab.tokens[i]);
    piece.add_float(2, i < vocab.scores.size() ? vocab.scores[i] : 0.0f);
    piece.add_number(3, static_cast<uint64_t>(vocab.types[i]));
    model.add_bytes(1, piece.bytes());
  }
  const bool is_unigram = vocab.model == "t5";
  const bool has_bytes = std::ranges::count(vocab.types, static_cast<int32_t>(text::TokenType::kByte)) > 0;
  trainer.add_number(3, is_unigram ? kUnigram : kBpe);
  trainer.add_number(4, vocab.tokens.size());
  trainer.add_number(35, has_bytes ? 1 : 0);
  trainer.add_number(40, id_or_none(vocab.unk));
  trainer.add_number(41, id_or_none(vocab.bos));
  trainer.add_number(42, id_or_none(vocab.eos));
  trainer.add_number(43, id_or_none(vocab.pad));
  model.add_bytes(2, trainer.bytes());
  normalizer.add_bytes(1, is_unigram && !vocab.charsmap.empty() ? "nmt_nfkc" : "identity");
  const auto* charsmap = reinterpret_cast<const char*>(vocab.charsmap.data());
  normalizer.add_bytes(2, std::string_view(charsmap, vocab.charsmap.size()));
  normalizer.add_number(3, vocab.add_space_prefix.value_or(true) ? 1 : 0);
  normalizer.add_number(4, vocab.remove_extra_whitespaces.value_or(false) ? 1 : 0);
  normalizer.add_number(5, 1);
  model.add_bytes(3, normalizer.bytes());
  return model.bytes();
}

}  // namespace realizar
