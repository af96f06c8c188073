// Saves an engine's cached blocks of one text, and restores them in another engine.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/prefix_file.h"
#include "engine/prefixes.h"

namespace realizar::test {

// Returns the number of saved tokens.
inline Result<size_t> save_text(engine::Engine& engine, const std::string& path, const std::vector<TokenId>& text) {
  const engine::PrefixShape shape = engine.prefixes().shape(1);
  const engine::HeldPrefix held = engine.prefixes().hold(text, 0);
  auto file = engine::PrefixFileWriter::create(path, shape, held.counts(), {}, held.tokens());
  if (!file.ok()) return file.error();
  for (uint64_t i = 0; i < held.counts().n_pieces(); ++i) {
    std::vector<std::byte> bytes(i < held.counts().n_blocks ? shape.block_bytes : shape.state_bytes);
    held.read(i, bytes);
    if (const Status status = file->write(held.name_of(i), bytes); !status.ok()) return status.error();
  }
  if (const Status status = file->commit(); !status.ok()) return status.error();
  return held.tokens().size();
}

inline Status restore_text(engine::Engine& engine, const std::string& path) {
  auto file = engine::PrefixFileReader::open(path, engine.prefixes().shape(1));
  if (!file.ok()) return file.error();
  if (Status status = file->check_is_of_text(); !status.ok()) return status;
  const auto prefix = engine.prefixes().begin(file->text());
  while (file->has_more()) {
    if (Status status = file->read(); !status.ok()) return status;
    const bool is_added = file->is_state()
                              ? prefix->add_state(file->bytes())
                              : prefix->add_block(file->name().group, file->name().n_short_tokens, file->bytes());
    if (!is_added) return Error{ErrorCode::kResourceExhausted, "no room", ""};
  }
  engine.prefixes().name(*prefix, 0, 0);
  return {};
}

}  // namespace realizar::test
