// Drives single operations through the backend seam, each step a small program. The seam can only write an activation
// by embedding tokens, so an input is a table of F32 rows: each step starts by embedding every input, and a token names
// a row's content.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "backend/ops.h"
#include "backend/program.h"
#include "support/test_weights.h"

namespace realizar::test {

// Owns the arrays that a StepBatch points to.
struct TestBatch {
  std::vector<TokenId> tokens;
  std::vector<Pos> positions;
  std::vector<BatchSequence> seqs;
  std::vector<uint32_t> logit_rows;
  uint32_t n_decode_rows = 0;

  StepBatch view() const { return {tokens, positions, seqs, n_decode_rows, logit_rows}; }
};

inline std::vector<uint32_t> first_tokens(uint32_t n) {
  std::vector<uint32_t> tokens(n);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

// Rows for operations that look at one row at a time: no sequences, all positions 0.
inline TestBatch rows_of(std::span<const uint32_t> tokens, uint32_t n_decode_rows) {
  TestBatch batch;
  for (const uint32_t token : tokens) batch.tokens.push_back(static_cast<TokenId>(token));
  batch.positions.resize(tokens.size());
  batch.n_decode_rows = n_decode_rows;
  return batch;
}

class OpRig {
 public:
  OpRig(std::unique_ptr<Backend> backend, const BackendLimits& limits) : backend_(std::move(backend)) {
    if (!backend_->configure(limits).ok()) std::abort();
  }

  Backend& backend() { return *backend_; }
  WeightId matrix(const TestMatrix& m) { return *backend_->load_matrix(m.source()); }
  WeightId vector(std::span<const float> values) { return *backend_->load_vector(values); }
  ActId input(const InputTable& table) {
    const ActId act = output(table.n_cols);
    const auto bytes = std::as_bytes(std::span(table.values));
    inputs_.push_back(
        {act, *backend_->load_matrix({"inputs", TypeId::kF32, 1, table.n_tokens, table.n_cols, {bytes}, {}, false})});
    return act;
  }
  ActId output(uint32_t n_cols, Rows rows = Rows::kAll) { return acts_.add_activation("", n_cols, rows); }

  // Fills `inputs`, then runs the operations that build(program) adds.
  template <class Build>
  void step(const TestBatch& batch, std::initializer_list<ActId> inputs, const Build& build) {
    step(batch.view(), inputs, build);
  }
  template <class Build>
  void step(const StepBatch& batch, std::initializer_list<ActId> inputs, const Build& build) {
    Program program = acts_;
    for (const Input& input : inputs_) {
      if (std::find(inputs.begin(), inputs.end(), input.act) == inputs.end()) continue;
      program.add(EmbedOp{.out = input.act, .table = input.table});
    }
    build(program);
    backend_->run(compiled(program), batch);
    if (!backend_->wait().ok()) std::abort();
  }

  std::vector<float> read(ActId act) const {
    const auto values = backend_->read(act);
    return {values.begin(), values.end()};
  }

 private:
  struct Input {
    ActId act;
    WeightId table;
  };

  // Steps of the same operations are runs of one program.
  ProgramId compiled(const Program& program) {
    const auto found =
        std::find_if(programs_.begin(), programs_.end(), [&](const auto& p) { return p.first == program; });
    if (found != programs_.end()) return found->second;
    programs_.emplace_back(program, *backend_->compile(program));
    return programs_.back().second;
  }

  std::unique_ptr<Backend> backend_;
  Program acts_;  // without operations
  std::vector<Input> inputs_;
  std::vector<std::pair<Program, ProgramId>> programs_;
};

}  // namespace realizar::test
