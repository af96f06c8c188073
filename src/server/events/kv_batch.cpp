#include "server/events/kv_batch.h"

#include "server/events/msgpack.h"

namespace realizar::server {
namespace {

using namespace msgpack;

constexpr uint64_t kRank = 0;           // data-parallel rank: each server is its own
constexpr const char* kMedium = "GPU";  // vLLM's name for the memory where blocks are computed, whatever the device

void append_hashes(std::string& out, const std::vector<uint64_t>& hashes) {
  begin_array(out, static_cast<uint32_t>(hashes.size()));
  for (const uint64_t hash : hashes) append_unsigned(out, hash);
}

void append_nil_field(std::string& out, const char* name) {
  append_text(out, name);
  append_nil(out);
}

void append_field(std::string& out, const char* name, uint64_t value) {
  append_text(out, name);
  append_unsigned(out, value);
}

void append_field(std::string& out, const char* name, const char* value) {
  append_text(out, name);
  append_text(out, value);
}

}  // namespace

void KvBatch::add_stored(uint64_t hash, std::optional<uint64_t> parent_hash, std::span<const TokenId> tokens,
                         uint32_t group) {
  const Event* const last = events_.empty() ? nullptr : &events_.back();
  const bool follows = last != nullptr && last->kind == Kind::kStored && last->group == group &&
                       parent_hash == last->hashes.back() && last->hashes.size() < kMaxBlocks;
  if (!follows) events_.push_back({Kind::kStored, group, {}, parent_hash, {}});
  Event& event = events_.back();
  event.hashes.push_back(hash);
  event.tokens.insert(event.tokens.end(), tokens.begin(), tokens.end());
}

void KvBatch::add_removed(uint64_t hash, uint32_t group) {
  const Event* const last = events_.empty() ? nullptr : &events_.back();
  const bool follows =
      last != nullptr && last->kind == Kind::kRemoved && last->group == group && last->hashes.size() < kMaxBlocks;
  if (!follows) events_.push_back({Kind::kRemoved, group, {}, std::nullopt, {}});
  events_.back().hashes.push_back(hash);
}

// Events added before this one no longer count.
void KvBatch::add_cleared() {
  events_.clear();
  events_.push_back({Kind::kCleared, 0, {}, std::nullopt, {}});
}

// Like vLLM, gives group and kind also for a model with only one group.
void KvBatch::write_stored(std::string& out, const Event& event, const KvLayout& layout) {
  const bool is_states = event.group >= layout.windows.size();
  const uint32_t window = is_states ? 0 : layout.windows[event.group];
  begin_map(out, window > 0 ? 11 : 10);
  append_field(out, "type", "BlockStored");
  append_text(out, "block_hashes");
  append_hashes(out, event.hashes);
  append_text(out, "parent_block_hash");
  event.parent_hash ? append_unsigned(out, *event.parent_hash) : append_nil(out);
  append_text(out, "token_ids");
  begin_array(out, static_cast<uint32_t>(event.tokens.size()));
  for (const TokenId token : event.tokens) append_unsigned(out, to_index(token));
  append_field(out, "block_size", layout.block_tokens);
  append_nil_field(out, "lora_id");
  append_field(out, "medium", kMedium);
  append_nil_field(out, "lora_name");
  append_field(out, "group_idx", event.group);
  append_field(out, "kv_cache_spec_kind", is_states ? "mamba" : window > 0 ? "sliding_window" : "full_attention");
  if (window > 0) append_field(out, "kv_cache_spec_sliding_window", window);
}

void KvBatch::write_removed(std::string& out, const Event& event) {
  begin_map(out, 4);
  append_field(out, "type", "BlockRemoved");
  append_text(out, "block_hashes");
  append_hashes(out, event.hashes);
  append_field(out, "medium", kMedium);
  append_field(out, "group_idx", event.group);
}

std::string KvBatch::take(double time_s, const KvLayout& layout) {
  size_t n_events = 0;
  for (size_t n_blocks = 0; n_events < events_.size() && n_blocks < kMaxBlocks; ++n_events) {
    n_blocks += events_[n_events].hashes.size();
  }
  std::string out;
  begin_array(out, 3);
  append_number(out, time_s);
  begin_array(out, static_cast<uint32_t>(n_events));
  for (; n_events > 0; --n_events) {
    const Event& event = events_.front();
    if (event.kind == Kind::kStored) {
      write_stored(out, event, layout);
    } else if (event.kind == Kind::kRemoved) {
      write_removed(out, event);
    } else {
      begin_map(out, 1);
      append_field(out, "type", "AllBlocksCleared");
    }
    events_.pop_front();
  }
  append_unsigned(out, kRank);
  return out;
}

}  // namespace realizar::server
