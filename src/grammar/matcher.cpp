#include "grammar/matcher.h"

#include <limits>

#include "base/check.h"

namespace realizar::grammar {

MaskCache::MaskCache(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie, size_t max_bytes,
                     uint64_t narrow_nodes)
    : grammar_(std::move(grammar)),
      trie_(std::move(trie)),
      max_bytes_(max_bytes),
      narrow_nodes_(narrow_nodes),
      table_(std::make_shared<MaskTable>(grammar_, trie_, narrow_nodes_)) {}

void MaskCache::refresh(std::shared_ptr<MaskTable>& table, SetId& state) {
  if (table_->bytes() > max_bytes_) table_ = std::make_shared<MaskTable>(grammar_, trie_, narrow_nodes_);
  if (table == table_) return;
  state = table_->sets().import(table->sets(), state);
  table = table_;
}

Matcher::Matcher(std::shared_ptr<MaskCache> cache) : cache_(std::move(cache)) {
  const std::lock_guard lock(cache_->mutex_);
  table_ = cache_->table_;
  state_ = table_->sets().start();
}

void Matcher::fill_mask(std::span<uint64_t> mask) {
  REQUIRE(mask.size() == cache_->trie_->mask_words());
  const std::lock_guard lock(cache_->mutex_);
  catch_up();
  if (!table_->is_under_way(state_)) cache_->refresh(table_, state_);
  table_->tokens_after(state_).write_to(mask);
}

// A mask is finished in the table where it began: however large that table is by now, no work is repeated.
MaskProgress Matcher::prepare(int64_t& n_work) {
  const std::lock_guard lock(cache_->mutex_);
  if (!catch_up(n_work)) return MaskProgress::kUnderWay;
  if (!table_->is_under_way(state_)) cache_->refresh(table_, state_);
  return table_->prepare(state_, n_work);
}

bool Matcher::is_complete() {
  const std::lock_guard lock(cache_->mutex_);
  catch_up();
  return table_->sets().is_complete(state_);
}

bool Matcher::can_continue() {
  const std::lock_guard lock(cache_->mutex_);
  catch_up();
  return table_->sets().can_continue(state_);
}

bool Matcher::accept(TokenId token) {
  const std::string_view bytes = cache_->trie_->bytes(token);
  return !bytes.empty() && accept_bytes(bytes);
}

bool Matcher::accept_bytes(std::string_view bytes) {
  const std::lock_guard lock(cache_->mutex_);
  catch_up();
  cache_->refresh(table_, state_);
  const SetId next = table_->step(state_, bytes);
  if (next == kDead || next == kTooAmbiguous) return false;
  state_ = next;
  return true;
}

void Matcher::accept_later(TokenId token) {
  const std::lock_guard lock(cache_->mutex_);
  catch_up();
  cache_->refresh(table_, state_);
  ahead_ = cache_->trie_->bytes(token);
  ahead_state_ = state_;
}

// False if the work is used up first. A token that the grammar does not allow has no effect.
bool Matcher::catch_up(int64_t& n_work) {
  if (ahead_.empty()) return true;
  ahead_state_ = table_->step_on(ahead_state_, ahead_, n_work);
  if (ahead_state_ != kDead && !ahead_.empty()) return false;
  ahead_ = {};
  if (ahead_state_ != kDead) state_ = ahead_state_;
  return true;
}

void Matcher::catch_up() {
  int64_t n_work = std::numeric_limits<int64_t>::max();
  static_cast<void>(catch_up(n_work));
}

}  // namespace realizar::grammar
