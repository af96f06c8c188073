#include "engine/prefix_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "backend/cpu/cpu_backend.h"
#include "engine/cache_sizes.h"
#include "engine/engine.h"
#include "engine/prefixes.h"
#include "formats/model_file.h"
#include "model/model.h"
#include "realizar/request.h"

namespace realizar::engine {
namespace {

constexpr const char* kSlotModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr uint64_t kSource = 7, kMine = 1, kTheirs = 2;

// A model and its engine.
class SlotRig {
 public:
  explicit SlotRig(uint32_t n_ctx = 256) {
    const EngineOptions options{.n_ctx = n_ctx};
    auto file = ModelFile::open(kSlotModel);
    backend_ = std::move(*cpu::make_cpu_backend({.n_threads = 1}));
    EXPECT_TRUE(backend_->configure(limits_for(options)).ok());
    model_ = std::make_unique<Model>(std::move(*Model::load(*file, *backend_, {.n_ctx = n_ctx})));
    engine_ = std::move(*Engine::create(*model_, *backend_, {}, options));
  }
  Engine* operator->() { return engine_.get(); }

  Generation answer(const std::vector<TokenId>& prompt, uint64_t salt) {
    Request request;
    request.prompt = prompt;
    request.cache_salt = salt;
    request.max_tokens = 4;
    return engine_->generate(request, {}).value();
  }
  uint32_t n_cached(const std::vector<TokenId>& prompt, uint64_t salt) { return answer(prompt, salt).stats.n_cached; }

  Status save(const std::string& path, const std::vector<TokenId>& tokens, uint64_t salt) {
    const PrefixShape shape = engine_->prefixes().shape(kSource);
    const HeldPrefix held = engine_->prefixes().hold(tokens, salt);
    auto file = PrefixFileWriter::create(path, shape, held.counts(), {}, held.tokens());
    std::vector<std::byte> block(shape.block_bytes);
    for (uint64_t i = 0; i < held.counts().n_pieces(); ++i) {
      held.read(i, block);
      EXPECT_TRUE(file->write(held.name_of(i), block).ok());
    }
    return file->commit();
  }

  Status restore(const std::string& path, uint64_t salt, uint64_t source = kSource) {
    const PrefixShape shape = engine_->prefixes().shape(source);
    auto file = PrefixFileReader::open(path, shape);
    if (!file.ok()) return file.error();
    if (const Status status = file->check_is_of_text(); !status.ok()) return status;
    const auto prefix = engine_->prefixes().begin(file->text());
    while (file->has_more()) {
      if (const Status read = file->read(); !read.ok()) return read;
      EXPECT_TRUE(prefix->add_block(file->name().group, file->name().n_short_tokens, file->bytes()));
    }
    prefix->name(salt, salt);
    return {};
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
};

std::vector<TokenId> text(uint32_t n) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back(TokenId{static_cast<int32_t>((3 + i * 37) % 2000)});
  return tokens;
}

class PrefixFile : public ::testing::Test {
 protected:
  ~PrefixFile() override { std::remove(path_.c_str()); }
  void damage(long at) const {
    std::FILE* file = std::fopen(path_.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    const int byte = std::fgetc(file);
    std::fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
    std::fputc(byte ^ 1, file);
    std::fclose(file);
  }

  const std::string path_ = ::testing::TempDir() + "prefix_file_test." + std::to_string(::getpid());
};

TEST_F(PrefixFile, APrefixIsFoundAgainByAnotherEngineUnderAnotherSalt) {
  for (const uint32_t n : {1u, 31u, 32u, 33u, 200u}) {
    SlotRig first, second;
    const auto tokens = text(n);
    const auto expected = first.answer(tokens, kMine);
    const uint32_t n_warm = first.n_cached(tokens, kMine);
    ASSERT_TRUE(first.save(path_, tokens, kMine).ok());
    ASSERT_TRUE(second.restore(path_, kTheirs).ok());
    EXPECT_EQ(second->prefixes().hold(tokens, kMine).tokens().size(), 0u) << "only requests of the salt find it";
    const auto warm = second.answer(tokens, kTheirs);
    EXPECT_EQ(warm.stats.n_cached, n_warm) << n << " tokens";
    EXPECT_EQ(warm.tokens, expected.tokens);
    EXPECT_EQ(second->prefixes().blocks().n_free(), second->prefixes().blocks().n_blocks())
        << "nothing is held any more";
    EXPECT_TRUE(second->prefixes().blocks().is_consistent());
  }
}

TEST_F(PrefixFile, APromptIsFoundAgainInABlockWhereItsAnswerGoesOn) {
  for (const uint32_t n : {29u, 40u, 62u, 200u}) {
    SlotRig first, second;
    const auto prompt = text(n);
    auto tokens = prompt;
    for (const TokenId token : first.answer(prompt, kMine).tokens) tokens.push_back(token);
    const uint32_t n_warm = first.n_cached(prompt, kMine);
    ASSERT_TRUE(first.save(path_, tokens, kMine).ok());
    ASSERT_TRUE(second.restore(path_, kTheirs).ok());
    EXPECT_EQ(second.n_cached(prompt, kTheirs), n_warm) << n << " tokens";
    EXPECT_TRUE(second->prefixes().blocks().is_consistent());
  }
}

TEST_F(PrefixFile, WhatIsCachedAlreadyStaysAsItIs) {
  SlotRig rig;
  const auto tokens = text(100);
  rig.answer(tokens, kMine);
  ASSERT_TRUE(rig.save(path_, tokens, kMine).ok());
  ASSERT_TRUE(rig.restore(path_, kMine).ok());
  EXPECT_EQ(rig.n_cached(tokens, kMine), 99u);
  EXPECT_TRUE(rig->prefixes().blocks().is_consistent());
}

TEST_F(PrefixFile, DamageIsSeenBeforeAnythingIsFoundInIt) {
  SlotRig rig;
  const auto tokens = text(100);
  rig.answer(tokens, kMine);
  for (const long at : {0L, 8L, 20L, 40L, 60L, 100L, 5000L, -1L}) {
    ASSERT_TRUE(rig.save(path_, tokens, kMine).ok());
    damage(at);
    EXPECT_FALSE(rig.restore(path_, kTheirs).ok()) << "byte " << at;
    EXPECT_EQ(rig->prefixes().hold(tokens, kTheirs).tokens().size(), 0u) << "byte " << at;
  }
  ASSERT_TRUE(rig.save(path_, tokens, kMine).ok());
  std::ofstream(path_, std::ios::binary | std::ios::app) << "x";
  EXPECT_FALSE(rig.restore(path_, kTheirs).ok());
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << "RZPREFIX";
  EXPECT_FALSE(rig.restore(path_, kTheirs).ok());
}

TEST_F(PrefixFile, IsOfOneModelAndFitsTheContext) {
  SlotRig rig, small(64);
  const auto tokens = text(100);
  rig.answer(tokens, kMine);
  ASSERT_TRUE(rig.save(path_, tokens, kMine).ok());
  EXPECT_NE(rig.restore(path_, kMine, kSource + 1).error().message.find("another model"), std::string::npos);
  EXPECT_NE(small.restore(path_, kMine).error().message.find("64 tokens"), std::string::npos);
  EXPECT_EQ(rig.restore(path_ + ".not-there", kMine).error().code, ErrorCode::kNotFound);
}

TEST_F(PrefixFile, AForgottenPrefixIsComputedAgain) {
  SlotRig rig;
  const auto tokens = text(100);
  rig.answer(tokens, kMine);
  rig.answer(tokens, kTheirs);
  EXPECT_GE(rig->prefixes().forget_one(tokens, kMine), 100u);
  EXPECT_EQ(rig.n_cached(tokens, kMine), 0u);
  EXPECT_EQ(rig.n_cached(tokens, kTheirs), 99u);
  EXPECT_EQ(rig->prefixes().forget_one(text(3), 99), 0u);
  EXPECT_TRUE(rig->prefixes().blocks().is_consistent());
}

}  // namespace
}  // namespace realizar::engine
