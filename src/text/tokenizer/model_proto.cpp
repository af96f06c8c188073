#include "text/tokenizer/model_proto.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/try.h"

namespace realizar::text {
namespace {

// One field of a message: its number, and either a number or bytes.
struct Field {
  uint32_t number = 0;
  uint64_t value = 0;      // varint, or the bits of a fixed-size field
  std::string_view bytes;  // for a length-delimited field
};

class Message {
 public:
  Message(std::string_view bytes, const char* name) : rest_(bytes), name_(name) {}

  bool at_end() const { return rest_.empty(); }

  Result<Field> next() {
    RZ_TRY(const uint64_t key, varint());
    Field field{static_cast<uint32_t>(key >> 3), 0, {}};
    switch (key & 7) {
      case 0: {
        RZ_TRY(field.value, varint());
        return field;
      }
      case 1: {
        RZ_TRY(field.bytes, take(8));
        std::memcpy(&field.value, field.bytes.data(), 8);
        return field;
      }
      case 2: {
        RZ_TRY(const uint64_t n_bytes, varint());
        RZ_TRY(field.bytes, take(n_bytes));
        return field;
      }
      case 5: {
        RZ_TRY(field.bytes, take(4));
        std::memcpy(&field.value, field.bytes.data(), 4);
        return field;
      }
      default:
        return error("a field of wire type " + std::to_string(key & 7));
    }
  }

 private:
  Error error(const std::string& what) const {
    return format_error(std::string("tokenizer.model: ") + name_ + ": " + what, name_);
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      RZ_TRY(const std::string_view byte, take(1));
      value |= static_cast<uint64_t>(byte[0] & 0x7f) << shift;
      if ((byte[0] & 0x80) == 0) return value;
    }
    return error("a number of more than 64 bits");
  }

  Result<std::string_view> take(uint64_t n_bytes) {
    if (n_bytes > rest_.size()) {
      return error("expected " + std::to_string(n_bytes) + " more bytes, got " + std::to_string(rest_.size()));
    }
    const std::string_view taken = rest_.substr(0, n_bytes);
    rest_.remove_prefix(n_bytes);
    return taken;
  }

  std::string_view rest_;
  const char* name_;
};

Status read_piece(std::string_view bytes, SpmDescription& description) {
  std::string piece;
  float score = 0;
  uint64_t type = static_cast<uint64_t>(TokenType::kNormal);
  for (Message message(bytes, "pieces"); !message.at_end();) {
    RZ_TRY(const Field field, message.next());
    if (field.number == 1) piece = field.bytes;
    if (field.number == 2) score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    if (field.number == 3) type = field.value;
  }
  // ModelProto uses the same numbers for types as GGUF.
  const bool known = type >= 1 && type <= 6;
  description.pieces.push_back(std::move(piece));
  description.scores.push_back(score);
  description.types.push_back(known ? static_cast<TokenType>(type) : TokenType::kUnused);
  return {};
}

// Ids are signed; a negative one means no such piece.
std::optional<TokenId> to_id(uint64_t value) {
  const auto id = static_cast<int32_t>(value);
  return id < 0 ? std::optional<TokenId>() : TokenId{id};
}

Status read_trainer(std::string_view bytes, SpmDescription& description) {
  for (Message message(bytes, "trainer_spec"); !message.at_end();) {
    RZ_TRY(const Field field, message.next());
    if (field.number == 3) {
      if (field.value != 1 && field.value != 2) {
        return unsupported(
            "tokenizer.model: model_type " + std::to_string(field.value) + " is not built; known: 1 (unigram), 2 (BPE)",
            "model_type");
      }
      description.unigram = field.value == 1;
    }
    if (field.number == 24 && field.value != 0) {
      return unsupported("tokenizer.model: treat_whitespace_as_suffix is not built", "treat_whitespace_as_suffix");
    }
    if (field.number == 35) description.byte_fallback = field.value != 0;
    if (field.number == 40) description.unk = to_id(field.value);
    if (field.number == 41) description.bos = to_id(field.value);
    if (field.number == 42) description.eos = to_id(field.value);
  }
  return {};
}

Status read_normalizer_spec(std::string_view bytes, SpmDescription& description) {
  for (Message message(bytes, "normalizer_spec"); !message.at_end();) {
    RZ_TRY(const Field field, message.next());
    if (field.number == 2) description.charsmap.assign(field.bytes.begin(), field.bytes.end());
    if (field.number == 3) description.whitespace.add_prefix = field.value != 0;
    if (field.number == 4) description.whitespace.remove_extra = field.value != 0;
    if (field.number == 5) description.whitespace.escape = field.value != 0;
  }
  return {};
}

// Ids outside the vocabulary, and those of pieces of another type, count as absent.
void keep_if(std::optional<TokenId>& id, TokenType type, const SpmDescription& description) {
  const auto i = id ? static_cast<size_t>(to_index(*id)) : 0;
  if (id && (i >= description.types.size() || description.types[i] != type)) id.reset();
}

}  // namespace

Result<SpmDescription> read_model_proto(std::string_view bytes) {
  SpmDescription description;
  description.unk = TokenId{0};
  description.bos = TokenId{1};
  description.eos = TokenId{2};
  description.whitespace.remove_extra = true;
  for (Message message(bytes, "ModelProto"); !message.at_end();) {
    RZ_TRY(const Field field, message.next());
    if (field.number == 1) RZ_CHECK_OK(read_piece(field.bytes, description));
    if (field.number == 2) RZ_CHECK_OK(read_trainer(field.bytes, description));
    if (field.number == 3) RZ_CHECK_OK(read_normalizer_spec(field.bytes, description));
  }
  keep_if(description.unk, TokenType::kUnknown, description);
  keep_if(description.bos, TokenType::kControl, description);
  keep_if(description.eos, TokenType::kControl, description);
  return description;
}

}  // namespace realizar::text
