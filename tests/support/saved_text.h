// What an engine has cached of one text, in a file, and from there in another engine.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/prefix_file.h"

namespace realizar::test {

// Gives the number of tokens that are saved.
inline Result<size_t> save_text(engine::Engine& engine, const std::string& path, const std::vector<TokenId>& text) {
  const engine::PrefixShape shape = engine.prefix_shape(1);
  const engine::HeldPrefix held = engine.hold_prefix(text, 0);
  auto file = engine::PrefixFileWriter::create(path, shape, held.counts(), {}, held.tokens());
  if (!file.ok()) return file.error();
  for (uint64_t i = 0; i < held.counts().n_pieces(); ++i) {
    std::vector<std::byte> bytes(i < held.counts().n_blocks ? shape.block_bytes : shape.state_bytes);
    engine.read_piece(held, i, bytes);
    if (const Status status = file->write(held.name_of(i), bytes); !status.ok()) return status.error();
  }
  if (const Status status = file->commit(); !status.ok()) return status.error();
  return held.tokens().size();
}

inline Status restore_text(engine::Engine& engine, const std::string& path) {
  auto file = engine::PrefixFileReader::open(path, engine.prefix_shape(1));
  if (!file.ok()) return file.error();
  if (Status status = file->check_is_of_text(); !status.ok()) return status;
  const auto prefix = engine.begin_prefix(file->text());
  while (file->has_more()) {
    if (Status status = file->read(); !status.ok()) return status;
    const bool is_added =
        file->is_state() ? engine.add_state(*prefix, file->bytes())
                         : engine.add_block(*prefix, file->name().group, file->name().n_short_tokens, file->bytes());
    if (!is_added) return Error{ErrorCode::kResourceExhausted, "no room", ""};
  }
  engine.name_prefix(*prefix, 0, 0);
  return {};
}

}  // namespace realizar::test
