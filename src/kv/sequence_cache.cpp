#include "kv/sequence_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace realizar {

SequenceCache::SequenceCache(BlockPool& pool, uint64_t cache_salt, uint64_t owner, uint32_t max_positions)
    : pool_(&pool), cache_salt_(cache_salt), owner_(owner) {
  blocks_.reserve(max_positions / pool.block_tokens() + 1);
  name_hash_ = pool.root_hash(cache_salt);
}

SequenceCache& SequenceCache::operator=(SequenceCache&& other) noexcept {
  give_back();
  pool_ = std::exchange(other.pool_, nullptr);
  cache_salt_ = other.cache_salt_;
  owner_ = other.owner_;
  blocks_ = std::exchange(other.blocks_, {});
  n_computed_ = std::exchange(other.n_computed_, 0);
  n_as_prompt_ = std::exchange(other.n_as_prompt_, 0);
  n_named_ = std::exchange(other.n_named_, 0);
  name_hash_ = other.name_hash_;
  return *this;
}

void SequenceCache::adopt_blocks(std::span<const TokenId> tokens, uint32_t limit) {
  const uint32_t block_tokens = pool_->block_tokens();
  REQUIRE(n_computed_ == n_named_ * block_tokens && blocks_.size() == n_named_);
  if (limit > n_computed_) pool_->find_prefix(tokens.first(limit).subspan(n_computed_), name_hash_, blocks_);
  n_named_ = static_cast<uint32_t>(blocks_.size());
  n_computed_ = n_as_prompt_ = n_named_ * block_tokens;
}

// A block may hold more than the limit: its first rows serve all the same.
std::optional<BlockPool::Tail> SequenceCache::find_tail(std::span<const TokenId> tokens) const {
  return pool_->find_tail(tokens.subspan(n_computed_), name_hash_);
}

uint32_t SequenceCache::n_with_tail(std::span<const TokenId> tokens, uint32_t limit) const {
  const auto tail = limit > n_computed_ ? find_tail(tokens) : std::nullopt;
  return tail ? std::min(n_computed_ + tail->n_tokens, limit) : n_computed_;
}

bool SequenceCache::adopt_tail(std::span<const TokenId> tokens, uint32_t limit) {
  const auto tail = limit > n_computed_ ? find_tail(tokens) : std::nullopt;
  const auto block = tail ? pool_->copy_tail(*tail) : std::nullopt;
  if (!block) return false;
  blocks_.push_back(*block);
  n_computed_ = n_as_prompt_ = std::min(n_computed_ + tail->n_tokens, limit);
  return true;
}

bool SequenceCache::reserve(uint32_t n_positions) {
  while (blocks_.size() * size_t{pool_->block_tokens()} < n_positions) {
    const auto block = pool_->allocate();
    if (!block) return false;
    blocks_.push_back(*block);
  }
  return true;
}

void SequenceCache::commit(std::span<const TokenId> tokens, uint32_t n_new, bool as_prompt) {
  const bool goes_on = as_prompt && n_as_prompt_ == n_computed_;
  n_computed_ += n_new;
  if (pool_ == nullptr || !goes_on) return;
  n_as_prompt_ = n_computed_;
  const uint32_t block_tokens = pool_->block_tokens(), n_whole = n_as_prompt_ / block_tokens;
  if (n_whole <= n_named_) return;
  const uint32_t n_blocks = n_whole - n_named_;
  pool_->name_blocks(std::span(blocks_).subspan(n_named_, n_blocks),
                     tokens.subspan(size_t{n_named_} * block_tokens, size_t{n_blocks} * block_tokens), owner_,
                     name_hash_);
  n_named_ = n_whole;
}

void SequenceCache::offer_tail(std::span<const TokenId> tokens) {
  if (pool_ == nullptr) return;
  const uint32_t begin = n_named_ * pool_->block_tokens();
  if (n_as_prompt_ <= begin) return;
  pool_->name_tail(blocks_[n_named_], tokens.subspan(begin, n_as_prompt_ - begin), owner_, name_hash_);
}

void SequenceCache::rollback(uint32_t n_computed) {
  REQUIRE(n_computed <= n_computed_ && (n_named_ == 0 || n_computed >= n_named_ * pool_->block_tokens()));
  n_computed_ = n_computed;
  n_as_prompt_ = std::min(n_as_prompt_, n_computed);
}

// The last block first, so that the beginning of a text can be found longest.
void SequenceCache::give_back() {
  for (size_t i = blocks_.size(); i-- > 0;) pool_->release(blocks_[i]);
  blocks_.clear();
}

void SequenceCache::release() {
  give_back();
  n_computed_ = n_as_prompt_ = n_named_ = 0;
  if (pool_ != nullptr) name_hash_ = pool_->root_hash(cache_salt_);
}

}  // namespace realizar
