// Drives a model without the engine: one sequence, with blocks allocated in reverse, so that nothing relies on their
// order.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/try.h"
#include "model/forward.h"
#include "model/model.h"

namespace realizar::test {

class StepDriver {
 public:
  static Result<std::unique_ptr<StepDriver>> open(const ModelFile& file, std::unique_ptr<Backend> backend,
                                                  uint32_t n_ctx, KvType kv_type = KvType::kF32) {
    RZ_TRY(const ModelConfig config, read_config(file, {.n_ctx = n_ctx}));
    return open(file, config, std::move(backend), n_ctx, kv_type);
  }

  // Opens it with a config that the test has changed.
  static Result<std::unique_ptr<StepDriver>> open(const ModelFile& file, const ModelConfig& config,
                                                  std::unique_ptr<Backend> backend, uint32_t n_ctx,
                                                  KvType kv_type = KvType::kF32) {
    auto driver = std::unique_ptr<StepDriver>(new StepDriver(std::move(backend)));
    RZ_CHECK_OK(driver->backend_->configure({.max_rows = n_ctx, .max_logit_rows = n_ctx, .max_context = n_ctx}));
    RZ_TRY(Model model, Model::load(file, config, *driver->backend_));
    driver->model_ = std::make_unique<Model>(std::move(model));
    const ModelConfig& c = driver->model_->config();
    const uint32_t n_blocks = (n_ctx + kBlockTokens - 1) / kBlockTokens;
    CacheLayout layout;
    layout.layers = state_layouts(c, n_ctx);
    layout.block_tokens = kBlockTokens;
    layout.n_blocks = n_blocks * static_cast<uint32_t>(group_layers(layout.layers).windows.size());
    layout.type = kv_type;
    layout.n_states = 1;
    driver->table_stride_ = n_blocks;
    RZ_CHECK_OK(driver->backend_->create_kv_cache(layout));
    for (uint32_t i = layout.n_blocks; i-- > 0;) driver->blocks_.push_back(BlockId{i});
    const Forward forward = build_forward(c, driver->model_->weights());
    RZ_TRY(driver->forward_, driver->backend_->compile(forward.program));
    driver->logits_ = forward.logits;
    return driver;
  }

  const ModelConfig& config() const { return model_->config(); }

  // Logits of every token, [n, n_outputs]: the first n_prompt as prompt chunks of n_chunk, the others one at a time. An
  // encoder takes them all at once.
  Result<std::vector<float>> run(std::span<const int> ids, uint32_t n_prompt, uint32_t n_chunk) {
    std::vector<float> all;
    const auto n = static_cast<uint32_t>(ids.size());
    if (config().is_bidirectional) n_prompt = n_chunk = n;
    for (uint32_t begin = 0; begin < n;) {
      const bool is_prompt = begin < n_prompt;
      const uint32_t n_rows = is_prompt ? std::min(n_chunk, n_prompt - begin) : 1;
      RZ_CHECK_OK(step(ids.subspan(begin, n_rows), begin, !is_prompt));
      const auto logits = backend_->read(logits_);
      all.insert(all.end(), logits.begin(), logits.end());
      begin += n_rows;
    }
    return all;
  }

 private:
  static constexpr uint32_t kBlockTokens = 16;
  explicit StepDriver(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // The batch and its arrays are members: they must live until the step's results are read.
  Status step(std::span<const int> ids, uint32_t first_pos, bool decode) {
    tokens_.clear();
    positions_.clear();
    rows_.clear();
    for (uint32_t i = 0; i < ids.size(); ++i) {
      tokens_.push_back(TokenId{ids[i]});
      positions_.push_back(static_cast<Pos>(first_pos + i));
      rows_.push_back(i);
    }
    const BlockTables tables(std::span<const BlockId>(blocks_).first(table_stride_), table_stride_);
    seq_ = {0, static_cast<uint32_t>(ids.size()), static_cast<Pos>(first_pos), tables, StateId{0}, StateId{0}};
    batch_ = {tokens_, positions_, {&seq_, 1}, decode ? seq_.n_rows : 0, rows_};
    backend_->run(forward_, batch_);
    return backend_->wait();
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  ProgramId forward_{};
  ActId logits_ = kNoAct;
  std::vector<BlockId> blocks_;  // [n_groups, table_stride_]
  uint32_t table_stride_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<Pos> positions_;
  std::vector<uint32_t> rows_;
  BatchSequence seq_{};
  StepBatch batch_;
};

}  // namespace realizar::test
