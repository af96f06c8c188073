#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

namespace realizar::kv {
namespace {

std::vector<TokenId> tokens_of(std::initializer_list<int> ids) {
  std::vector<TokenId> tokens;
  for (const int id : ids) tokens.push_back(TokenId{id});
  return tokens;
}

void name_from_root(BlockPool& pool, const std::vector<BlockId>& blocks, const std::vector<TokenId>& tokens) {
  uint64_t hash = pool.root_hash(0);
  pool.name_blocks(blocks, std::span(tokens).first(blocks.size() * pool.block_tokens()), 0, hash);
}

// Continues from the block that `hash` belongs to, as long as names are found.
void find_next(BlockPool& pool, std::span<const TokenId> tokens, uint64_t& hash, std::vector<BlockId>& found) {
  for (; tokens.size() >= pool.block_tokens(); tokens = tokens.subspan(pool.block_tokens())) {
    const auto own = tokens.first(pool.block_tokens());
    const auto block = pool.take_named(pool.hash_after(hash, own), own);
    if (!block) return;
    hash = pool.hash_after(hash, own);
    found.push_back(*block);
  }
}

std::vector<BlockId> find_from_root(BlockPool& pool, const std::vector<TokenId>& tokens, uint64_t cache_salt = 0) {
  std::vector<BlockId> found;
  uint64_t hash = pool.root_hash(cache_salt);
  find_next(pool, tokens, hash, found);
  return found;
}

TEST(BlockPool, HandsOutEveryBlockOnceAndThenNone) {
  BlockPool pool(3, 4, {0, 0});
  std::vector<BlockId> got;
  for (int i = 0; i < 3; ++i) got.push_back(*pool.allocate());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(std::unique(got.begin(), got.end()), got.end());
  EXPECT_FALSE(pool.allocate().has_value());
  pool.release(got[1]);
  EXPECT_EQ(pool.allocate(), got[1]);
}

TEST(BlockPool, FindsTheLongestNamedPrefix) {
  BlockPool pool(4, 2, {7, 0});
  const auto text = tokens_of({1, 2, 3, 4, 5, 6});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  name_from_root(pool, {a, b}, text);
  pool.release(a);
  pool.release(b);
  EXPECT_EQ(find_from_root(pool, text), (std::vector{a, b}));
  EXPECT_EQ(pool.n_free(), 2u);
  EXPECT_EQ(find_from_root(pool, tokens_of({1, 2, 3})), (std::vector{a}));
  EXPECT_EQ(find_from_root(pool, tokens_of({1, 2, 9, 4})), (std::vector{a}));
  // These tokens equal the second block's, but do not follow the first block.
  EXPECT_TRUE(find_from_root(pool, tokens_of({3, 4})).empty());
  EXPECT_TRUE(find_from_root(pool, text, 5).empty()) << "another salt";
}

TEST(BlockPool, NamesDependOnTheKey) {
  const auto text = tokens_of({1, 2, 3, 4});
  BlockPool first(2, 2, {1, 2}), second(2, 2, {1, 3});
  EXPECT_NE(first.root_hash(0), second.root_hash(0));
  EXPECT_NE(first.salt_of("a"), second.salt_of("a"));
  EXPECT_NE(first.salt_of("a"), first.salt_of("b"));
  EXPECT_EQ(first.salt_of("a"), BlockPool(1, 1, {1, 2}).salt_of("a"));
  const auto name_of = [&](BlockPool& pool) {
    const BlockId block = *pool.allocate();
    uint64_t hash = 5;
    pool.name_blocks({&block, 1}, std::span(text).first(2), 0, hash);
    return hash;
  };
  EXPECT_NE(name_of(first), name_of(second)) << "not even from the same parent";
}

TEST(BlockPool, TakesOverTheNamesOfAnotherRunWithItsKey) {
  const auto text = tokens_of({1, 2});
  BlockPool before(1, 2, {1, 2}), after(1, 2, {3, 4});
  const BlockId old_block = *before.allocate();
  name_from_root(before, {old_block}, text);
  after.use_key(before.key());
  const BlockId block = *after.allocate();
  after.restore_name(block, before.name_of(old_block));
  EXPECT_EQ(find_from_root(after, text), std::vector{block});

  BlockPool other(1, 2, {3, 4});
  other.restore_name(*other.allocate(), before.name_of(old_block));
  EXPECT_TRUE(other.named_blocks().empty()) << "a name that its key does not give";
}

TEST(BlockPool, GoesOnFromWhereItStopped) {
  BlockPool pool(4, 2, {7, 0});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  name_from_root(pool, {a, b}, tokens_of({1, 2, 3, 4}));
  uint64_t hash = pool.root_hash(0);
  std::vector<BlockId> found;
  find_next(pool, tokens_of({1, 2}), hash, found);
  find_next(pool, tokens_of({3, 4}), hash, found);
  EXPECT_EQ(found, (std::vector{a, b}));
}

TEST(BlockPool, ReusesTheLeastRecentlyReleasedAndForgetsItsName) {
  BlockPool pool(2, 1, {0, 0});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  name_from_root(pool, {a}, tokens_of({1}));
  name_from_root(pool, {b}, tokens_of({2}));
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.allocate(), b);
  EXPECT_TRUE(find_from_root(pool, tokens_of({2})).empty());
  EXPECT_EQ(find_from_root(pool, tokens_of({1})), (std::vector{a}));
}

// Records all moves.
class RecordingStore final : public BlockStore {
 public:
  bool save(BlockId id, uint32_t slot) override {
    saved.emplace_back(id, slot);
    return has_room;
  }
  void restore(uint32_t slot, BlockId id) override { restored.emplace_back(slot, id); }
  void copy(BlockId from, BlockId to) override { copied.emplace_back(from, to); }

  bool has_room = true;
  std::vector<std::pair<BlockId, uint32_t>> saved;
  std::vector<std::pair<uint32_t, BlockId>> restored;
  std::vector<std::pair<BlockId, BlockId>> copied;
};

TEST(BlockPool, BlocksWithoutNamesAreTakenBeforeThoseThatCanBeFound) {
  BlockPool pool(3, 1, {0, 0});
  const BlockId a = *pool.allocate(), b = *pool.allocate(), c = *pool.allocate();
  name_from_root(pool, {a}, tokens_of({1}));
  for (const BlockId block : {a, b, c}) pool.release(block);
  EXPECT_EQ(pool.allocate(), c);
  EXPECT_EQ(pool.allocate(), b);
  EXPECT_EQ(find_from_root(pool, tokens_of({1})), std::vector{a});
}

TEST(BlockPool, TheLongestTailIsFoundAndCopied) {
  RecordingStore store;
  BlockPool pool(5, 4, {7, 0}, &store);
  const BlockId a = *pool.allocate(), b = *pool.allocate(), c = *pool.allocate();
  uint64_t hash = pool.root_hash(0);
  const uint64_t root = hash;
  pool.name_blocks({&a, 1}, tokens_of({1, 2, 3, 4}), 0, hash);
  pool.name_tail(b, tokens_of({5, 6}), 0, hash);
  pool.name_tail(c, tokens_of({5, 6, 7}), 0, hash);

  const auto found = [&](std::initializer_list<int> ids, uint64_t after) {
    const auto tail = pool.find_tail(tokens_of(ids), after);
    return tail ? std::pair(BlockId{tail->block}, tail->n_tokens) : std::pair(BlockId{99}, 0u);
  };
  EXPECT_EQ(found({5, 6, 7, 8, 9}, hash), std::pair(c, 3u));
  EXPECT_EQ(found({5, 6, 8}, hash), std::pair(b, 2u));
  EXPECT_EQ(found({5}, hash).second, 0u) << "no name is as short";
  EXPECT_EQ(found({5, 6}, root).second, 0u) << "the same tokens after others";
  EXPECT_EQ(found({1, 2, 3, 4}, root), std::pair(a, 4u)) << "a whole block";
  EXPECT_TRUE(find_from_root(pool, tokens_of({1, 2, 3, 4, 5, 6, 7})) == std::vector{a}) << "no tail is a whole block";

  const auto copy = pool.copy_tail(*pool.find_tail(tokens_of({5, 6}), hash));
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(store.copied, (std::vector<std::pair<BlockId, BlockId>>{{b, *copy}}));
  EXPECT_EQ(pool.n_holders(*copy), 1u);
  EXPECT_EQ(pool.n_holders(b), 1u) << "only its owner";
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, ATailThatGoesOnIsFoundByItsFirstNameAndByItsLongest) {
  RecordingStore store;
  BlockPool pool(3, 4, {7, 0}, &store, 2);
  const uint64_t root = pool.root_hash(0);
  const auto n_found = [&](std::initializer_list<int> ids) {
    const auto tail = pool.find_tail(tokens_of(ids), root);
    return tail ? tail->n_tokens : 0;
  };
  const BlockId block = *pool.allocate(), other = *pool.allocate();
  pool.name_tail(block, tokens_of({1}), 0, root);
  pool.name_tail(block, tokens_of({1, 2}), 0, root);
  EXPECT_EQ(n_found({1, 2}), 2u);
  EXPECT_EQ(n_found({1, 3}), 1u);
  pool.name_tail(block, tokens_of({1, 9, 9}), 0, root);
  EXPECT_EQ(n_found({1, 9, 9}), 1u) << "other tokens than those that it was named after";
  name_from_root(pool, {block}, tokens_of({1, 2, 3, 4}));
  EXPECT_EQ(find_from_root(pool, tokens_of({1, 2, 3, 4})), std::vector{block});
  EXPECT_EQ(n_found({1, 2, 3}), 1u) << "of those between only the first is kept";
  EXPECT_EQ(pool.name_counts().n_named, 1u);
  EXPECT_TRUE(pool.is_consistent());

  pool.release(block);
  pool.release(block);
  pool.release(other);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.allocate().has_value());
  ASSERT_EQ(store.saved.size(), 1u);
  EXPECT_EQ(n_found({1, 2, 3, 4}), 4u) << "both names went to the store";
  EXPECT_EQ(n_found({1, 3}), 1u);
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, ATailIsCopiedToNoBlockButAFreeOne) {
  RecordingStore store;
  BlockPool pool(1, 4, {7, 0}, &store);
  const BlockId only = *pool.allocate();
  pool.name_tail(only, tokens_of({5, 6}), 0, pool.root_hash(0));
  pool.release(only);
  const auto tail = pool.find_tail(tokens_of({5, 6}), pool.root_hash(0));
  ASSERT_TRUE(tail.has_value());
  EXPECT_FALSE(pool.copy_tail(*tail).has_value());
  EXPECT_TRUE(pool.find_tail(tokens_of({5, 6}), pool.root_hash(0)).has_value()) << "it keeps its name";
  EXPECT_EQ(pool.n_free(), 1u);
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, ATailIsCopiedFromItsSlotInTheStore) {
  RecordingStore store;
  BlockPool pool(1, 4, {7, 0}, &store, 2);
  const BlockId only = *pool.allocate();
  pool.name_tail(only, tokens_of({5, 6}), 0, pool.root_hash(0));
  pool.release(only);
  pool.release(*pool.allocate());
  ASSERT_EQ(store.saved.size(), 1u);
  for (int i = 0; i < 2; ++i) {
    const auto tail = pool.find_tail(tokens_of({5, 6}), pool.root_hash(0));
    ASSERT_TRUE(tail.has_value());
    const auto copy = pool.copy_tail(*tail);
    EXPECT_EQ(copy, only);
    EXPECT_EQ(store.restored.back(), (std::pair<uint32_t, BlockId>{store.saved[0].second, only}));
    EXPECT_TRUE(pool.is_consistent());
    pool.release(*copy);
  }
}

TEST(BlockPool, AGroupsNamesAreItsOwn) {
  BlockPool pool(4, 2, {7, 0}, nullptr, 0, {0, 8});
  const auto text = tokens_of({1, 2});
  const BlockId a = *pool.allocate(), b = *pool.allocate(), c = *pool.allocate();
  const auto hash_in = [&](BlockId block, uint32_t group) {
    uint64_t hash = pool.root_hash(0);
    pool.name_blocks({&block, 1}, text, 0, hash, group);
    return hash;
  };
  const uint64_t hash = hash_in(a, 0);
  EXPECT_FALSE(pool.is_named(hash, text, 1));
  EXPECT_EQ(hash_in(b, 1), hash);
  EXPECT_EQ(pool.take_named(hash, text, 0), a);
  EXPECT_EQ(pool.take_named(hash, text, 1), b);
  EXPECT_EQ(pool.name_of(b).group, 1u);
  EXPECT_FALSE(pool.restore_name(c, {pool.root_hash(0), hash, 0, text, 0, 2})) << "there is no such group";
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, ForgetsTheNamesOfOneOwnerAlone) {
  BlockPool pool(2, 1, {0, 0});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  uint64_t hash = pool.root_hash(0);
  pool.name_blocks({&a, 1}, tokens_of({1}), 7, hash);
  hash = pool.root_hash(0);
  pool.name_blocks({&b, 1}, tokens_of({2}), 8, hash);
  pool.release(a);
  pool.release(b);
  pool.forget_names(7);
  EXPECT_TRUE(find_from_root(pool, tokens_of({1})).empty());
  EXPECT_EQ(find_from_root(pool, tokens_of({2})), std::vector{b});
  EXPECT_TRUE(pool.is_consistent());
  pool.forget_names();
  EXPECT_TRUE(pool.named_blocks().empty());
}

TEST(BlockPool, HasAllWipedThatWasUsedAndIsNobodysAnyMore) {
  RecordingStore store;
  BlockPool pool(5, 1, {0, 0}, &store, 2);
  const BlockId held = *pool.allocate(), named = *pool.allocate(), ended = *pool.allocate(), other = *pool.allocate();
  name_from_root(pool, {named}, tokens_of({1}));
  for (const BlockId block : {named, ended, other}) pool.release(block);
  std::vector<BlockId> blocks;
  std::vector<uint32_t> slots;
  const auto wipe = [&](uint32_t max_blocks) {
    blocks.clear();
    slots.clear();
    return pool.wipe_nameless(
        max_blocks, [&](BlockId id) { blocks.push_back(id); }, [&](uint32_t slot) { slots.push_back(slot); });
  };
  EXPECT_FALSE(wipe(1));
  EXPECT_EQ(blocks, std::vector{ended});
  EXPECT_TRUE(wipe(1));
  EXPECT_EQ(blocks, std::vector{other}) << "neither what is held or has a name, nor what was never used";
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pool.allocate().has_value());
  ASSERT_EQ(store.saved.size(), 1u) << "the named one had to go";
  EXPECT_TRUE(wipe(9));
  EXPECT_TRUE(blocks.empty() && slots.empty());
  pool.forget_names();
  EXPECT_TRUE(wipe(9));
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(slots, std::vector{store.saved[0].second});
  EXPECT_EQ(pool.n_holders(held), 1u);
}

TEST(BlockPool, AgreesWithANaiveModelUnderRandomUse) {
  constexpr uint32_t kBlocks = 12, kBlockTokens = 3;
  std::mt19937 random(3);
  RecordingStore store;
  BlockPool pool(kBlocks, kBlockTokens, {1, 0}, &store);
  std::map<uint32_t, std::vector<std::string>> names_of;  // naive: each block's longest name, and its first
  std::vector<BlockId> held;
  const auto hash_after = [](std::span<const TokenId> first) {
    BlockPool other(1, kBlockTokens, {1, 0});
    const BlockId block = *other.allocate();
    uint64_t hash = other.root_hash(0);
    other.name_blocks({&block, 1}, first, 0, hash);
    return hash;
  };
  for (int step = 0; step < 20000; ++step) {
    std::vector<TokenId> text;
    for (uint32_t i = 0; i < 2 * kBlockTokens; ++i) text.push_back(TokenId{static_cast<int>(random() % 2)});
    const auto spelled = [&](uint32_t n) {
      std::string key;
      for (uint32_t i = 0; i < n; ++i) key += static_cast<char>('0' + to_index(text[i]));
      return key;
    };
    // The hash before the block with this number.
    const auto hash_before = [&](uint32_t block_idx) {
      return block_idx == 0 ? pool.root_hash(0) : hash_after(std::span(text).first(kBlockTokens));
    };
    const auto block_named = [&](const std::string& key) {
      const auto has_key = [&](const auto& n) { return std::ranges::find(n.second, key) != n.second.end(); };
      return std::find_if(names_of.begin(), names_of.end(), has_key);
    };
    const auto add_name = [&](BlockId block, const std::string& key) {
      if (block_named(key) != names_of.end()) return;
      auto& names = names_of[to_index(block)];
      const bool goes_on = !names.empty() && key.starts_with(names[0]) &&
                           (key.size() - 1) / kBlockTokens == (names[0].size() - 1) / kBlockTokens;
      if (names.empty()) {
        names = {key};
      } else if (goes_on) {
        names = {key, names.back()};
      }
    };
    switch (random() % 6) {
      case 0: {
        const bool has_free = pool.n_free() > 0;
        const auto block = pool.allocate();
        ASSERT_EQ(block.has_value(), has_free);
        if (!block) break;
        names_of.erase(to_index(*block));
        held.push_back(*block);
        break;
      }
      case 1: {
        if (held.empty()) break;
        const size_t i = random() % held.size();
        pool.release(held[i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
      case 2: {
        if (held.empty()) break;
        const BlockId block = held[random() % held.size()];
        const uint32_t block_idx = random() % 2;
        add_name(block, spelled((block_idx + 1) * kBlockTokens));
        const auto own = std::span(text).subspan(block_idx * kBlockTokens, kBlockTokens);
        uint64_t hash = hash_before(block_idx);
        pool.name_blocks({&block, 1}, own, 0, hash);
        break;
      }
      case 3: {
        if (held.empty()) break;
        const BlockId block = held[random() % held.size()];
        const uint32_t block_idx = random() % 2, n_tokens = 1 + random() % (kBlockTokens - 1);
        add_name(block, spelled(block_idx * kBlockTokens + n_tokens));
        pool.name_tail(block, std::span(text).subspan(block_idx * kBlockTokens, n_tokens), 0, hash_before(block_idx));
        break;
      }
      case 4: {
        const uint32_t first = random() % 2 * kBlockTokens, n_wanted = 1 + random() % kBlockTokens;
        const auto tail = pool.find_tail(std::span(text).subspan(first, n_wanted), hash_before(first / kBlockTokens));
        uint32_t n_expected = n_wanted;
        const auto is_named = [&](uint32_t n) { return block_named(spelled(n)) != names_of.end(); };
        while (n_expected > 0 && !is_named(first + n_expected)) --n_expected;
        ASSERT_EQ(tail ? tail->n_tokens : 0, n_expected);
        if (!tail) break;
        ASSERT_EQ(tail->block, block_named(spelled(first + n_expected))->first);
        const auto copy = pool.copy_tail(*tail);
        const bool is_source_free = pool.n_holders(BlockId{tail->block}) == 0;
        if (!copy) {
          ASSERT_EQ(pool.n_free(), is_source_free ? 1u : 0u);
          break;
        }
        ASSERT_EQ(store.copied.back(), std::pair(BlockId{tail->block}, *copy));
        ASSERT_NE(to_index(*copy), tail->block);
        names_of.erase(to_index(*copy));
        held.push_back(*copy);
        break;
      }
      default: {
        const auto found = find_from_root(pool, text);
        for (uint32_t i = 0; i < 2; ++i) {
          const std::string key = spelled((i + 1) * kBlockTokens);
          const auto named = block_named(key);
          const bool expected = named != names_of.end() && found.size() >= i;
          ASSERT_EQ(found.size() > i, expected);
          if (!expected) break;
          ASSERT_EQ(to_index(found[i]), named->first);
        }
        held.insert(held.end(), found.begin(), found.end());
      }
    }
    std::map<uint32_t, uint32_t> n_held;
    for (const BlockId block : held) ++n_held[to_index(block)];
    for (uint32_t block = 0; block < kBlocks; ++block) ASSERT_EQ(pool.n_holders(BlockId{block}), n_held[block]);
    ASSERT_TRUE(pool.is_consistent()) << step;
  }
}

// An observer's view of a pool.
class Watching final : public BlockPool::Observer {
 public:
  using Names = std::set<std::pair<uint64_t, uint32_t>>;  // hash and group

  void on_named(const BlockPool::Name& name) override {
    EXPECT_TRUE(names.emplace(name.hash, name.group).second) << "told once";
    last_tokens.assign(name.tokens.begin(), name.tokens.end());
    last_parent = name.parent_hash;
  }
  void on_forgotten(uint64_t hash, uint32_t group) override { EXPECT_EQ(names.erase({hash, group}), 1u); }
  void on_all_forgotten() override {
    ++n_cleared;
    names.clear();
  }

  // The names that the pool has.
  static Names of(const BlockPool& pool) {
    Names whole;
    for (const BlockId block : pool.all_with_names()) {
      const auto name = pool.name_of(block);
      if (name.tokens.size() == pool.block_tokens()) whole.emplace(name.hash, name.group);
    }
    return whole;
  }

  Names names;
  std::vector<TokenId> last_tokens;
  uint64_t last_parent = 0;
  int n_cleared = 0;
};

TEST(BlockPool, TellsAnObserverOfANameItsTokensAndItsParent) {
  BlockPool pool(2, 2, {0, 0});
  Watching watching;
  pool.set_observer(&watching);
  name_from_root(pool, {*pool.allocate(), *pool.allocate()}, tokens_of({1, 2, 3, 4}));
  EXPECT_EQ(watching.names.size(), 2u);
  EXPECT_EQ(watching.last_tokens, tokens_of({3, 4}));
  EXPECT_EQ(watching.last_parent, pool.hash_after(pool.root_hash(0), tokens_of({1, 2})));
  pool.use_key({1, 1});
  EXPECT_EQ(watching.n_cleared, 1);
}

TEST(BlockPool, AnObserverKnowsAllWholeBlocksThatCanBeFoundUnderRandomUse) {
  for (const uint32_t n_slots : {0u, 3u}) {
    std::mt19937 random(n_slots);
    RecordingStore store;
    BlockPool pool(8, 2, {1, 0}, &store, n_slots, {0, 4});
    Watching watching;
    pool.set_observer(&watching);
    std::vector<BlockId> held;
    const auto give_back = [&] {
      if (held.empty()) return;
      std::swap(held[random() % held.size()], held.back());
      pool.release(held.back());
      held.pop_back();
    };
    for (int step = 0; step < 5000; ++step) {
      store.has_room = random() % 4 > 0;
      const uint32_t group = random() % 2;
      const auto own = tokens_of({static_cast<int>(random() % 3), static_cast<int>(random() % 3)});
      const uint64_t parent = random() % 2 == 0 ? pool.root_hash(0) : pool.hash_after(pool.root_hash(0), own);
      const uint64_t hash = pool.hash_after(parent, own);
      switch (random() % 8) {
        case 0:
          if (const auto block = pool.allocate()) held.push_back(*block);
          break;
        case 1:
        case 2:
          give_back();
          break;
        case 3:
        case 4: {
          uint64_t at = parent;
          if (!held.empty()) pool.name_blocks({&held.back(), 1}, own, random() % 2, at, group);
          break;
        }
        case 5:
          if (!held.empty()) pool.name_tail(held.back(), std::span(own).first(1), random() % 2, parent, group);
          break;
        case 6:
          if (const auto block = pool.take_named(hash, own, group)) held.push_back(*block);
          break;
        default:
          if (random() % 8 == 0) pool.forget_names(random() % 2 == 0 ? std::nullopt : std::optional(uint64_t{1}));
          if (random() % 2 == 0) pool.forget_name(hash, own, group);
      }
      ASSERT_EQ(watching.names, Watching::of(pool)) << step;
    }
    EXPECT_GT(watching.n_cleared, 0);
  }
}

TEST(BlockPool, ANamedBlockThatIsTakenAgainComesBackFromTheStore) {
  RecordingStore store;
  BlockPool pool(2, 2, {0, 0}, &store, 2);
  const auto text = tokens_of({1, 2, 3, 4});
  const BlockId a = *pool.allocate(), b = *pool.allocate();
  name_from_root(pool, {a, b}, text);
  pool.release(b);
  pool.release(a);
  const BlockId other = *pool.allocate();
  EXPECT_EQ(other, b);
  EXPECT_EQ(store.saved, (std::vector<std::pair<BlockId, uint32_t>>{{b, 0}}));
  EXPECT_EQ(find_from_root(pool, text), (std::vector{a})) << "no block is free for the second";
  pool.release(a);
  pool.release(other);
  EXPECT_EQ(find_from_root(pool, text), (std::vector{a, b}));
  EXPECT_EQ(store.restored, (std::vector<std::pair<uint32_t, BlockId>>{{0, b}}));
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, TheOldestSlotOfTheStoreIsFilledAgain) {
  RecordingStore store;
  BlockPool pool(1, 1, {0, 0}, &store, 1);
  for (const int id : {1, 2, 3}) {
    const BlockId block = *pool.allocate();
    name_from_root(pool, {block}, tokens_of({id}));
    pool.release(block);
  }
  EXPECT_TRUE(find_from_root(pool, tokens_of({1})).empty());
  // The only block is filled from the only slot, so its own content is lost.
  EXPECT_EQ(find_from_root(pool, tokens_of({2})).size(), 1u);
  EXPECT_TRUE(find_from_root(pool, tokens_of({3})).empty());
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, WithoutRoomInTheStoreANameIsForgotten) {
  RecordingStore store;
  store.has_room = false;
  BlockPool pool(1, 1, {0, 0}, &store, 1);
  const BlockId block = *pool.allocate();
  name_from_root(pool, {block}, tokens_of({1}));
  pool.release(block);
  pool.release(*pool.allocate());
  EXPECT_TRUE(find_from_root(pool, tokens_of({1})).empty());
  EXPECT_TRUE(pool.is_consistent());
}

TEST(BlockPool, CountsWhatBecomesOfNames) {
  RecordingStore store;
  BlockPool pool(2, 2, {0, 0}, &store, 1);
  const auto take_named = [&](int first) {
    const BlockId block = *pool.allocate();
    name_from_root(pool, {block}, tokens_of({first, first + 1}));
    pool.release(block);
  };
  const auto counts = [&] {
    const BlockPool::NameCounts& c = pool.name_counts();
    return std::vector<uint64_t>{c.n_named, c.n_stored, c.n_inserted, c.n_evicted, c.n_saved, c.n_dropped};
  };
  take_named(1);
  take_named(3);
  EXPECT_EQ(counts(), (std::vector<uint64_t>{2, 0, 2, 0, 0, 0}));
  take_named(5);  // saves the first
  EXPECT_EQ(counts(), (std::vector<uint64_t>{2, 1, 3, 1, 1, 0}));
  take_named(7);  // saves the second in its slot
  EXPECT_EQ(counts(), (std::vector<uint64_t>{2, 1, 4, 2, 2, 1}));
  const BlockId block = *pool.allocate();  // a block whose name was evicted
  EXPECT_EQ(counts(), (std::vector<uint64_t>{1, 1, 4, 3, 3, 2}));
  pool.name_tail(block, tokens_of({9}), 0, pool.root_hash(0));
  name_from_root(pool, {block}, tokens_of({9, 9}));  // continues from its name
  EXPECT_EQ(counts(), (std::vector<uint64_t>{2, 1, 5, 3, 3, 2}));
  store.has_room = false;
  pool.release(block);
  pool.release(*pool.allocate());
  EXPECT_EQ(counts(), (std::vector<uint64_t>{1, 0, 5, 4, 3, 3}));
  pool.forget_names();
  EXPECT_EQ(counts(), (std::vector<uint64_t>{0, 0, 5, 4, 3, 3}));
}

}  // namespace
}  // namespace realizar::kv
