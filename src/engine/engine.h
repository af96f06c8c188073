// The one engine: run, server, benchmark and library hand it a Request and read tokens. It owns the counters, and
// leaves the rest to its parts: Prefixes has the KV blocks, Admission says who runs, Step what is computed, Results
// what becomes of it. Every step computes one mixed batch of decoding sequences and prompt chunks. One thread at a time
// may call, save where a function says more. A decode step allocates, locks and prints nothing, except what a request's
// constraint does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/counters.h"
#include "engine/engine_options.h"
#include "engine/op_table.h"
#include "engine/request_sink.h"
#include "realizar/generation.h"
#include "realizar/result.h"

namespace realizar {
class Backend;
class Model;
struct ModelConfig;
struct Request;
enum class ProgramId : uint32_t;
}  // namespace realizar

namespace realizar::engine {

class Adapters;
class Admission;
class IdlePrefill;
class MaskTurns;
class ModelDrafter;
class Prefixes;
class Results;
class Step;
struct ForwardOutputs;
struct ForwardPrograms;

class Engine {
 public:
  // Creates the cache and all buffers, and has the backend compile the model and take the memory of all steps. `model`
  // and `backend` must outlive the engine. `end_tokens` stop every request that does not ignore them. Errors:
  // InvalidArgument, ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<Engine>> create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                                const EngineOptions& options);
  ~Engine();

  // Checks a request and makes what the engine needs for it. Any thread. `request` and `sink` must outlive the
  // sequence, which ends with sink.on_end. Errors: InvalidArgument (empty prompt, id outside the vocabulary, a sampling
  // parameter out of range, by name), ContextLengthExceeded (both numbers, before any computation).
  Result<SequencePtr> prepare(const Request& request, RequestSink& sink);
  // Requests that wait and run at once, as Admission::set_max_open has it. Before the first one.
  void set_max_open(uint32_t max_open);
  // Puts it among those that wait.
  void submit(SequencePtr sequence);
  // The two things that decide which cached prefixes a request finds: the salt of their names in this engine's cache,
  // and what of an adapter it stands for, where there is one. Any thread. Errors: NotFound, InvalidArgument (of the
  // adapter).
  struct PrefixSalt {
    uint64_t cache_salt = 0;
    uint64_t adapter_fingerprint = 0;
    float adapter_factor = 0;  // 0: there is no adapter
  };
  Result<PrefixSalt> prefix_salt_of(const Request& request);
  // Takes in what waits and fits, computes one batch and hands out its tokens. An error (Internal: the device failed,
  // or a request's sink or constraint threw; ResourceExhausted: memory ran out) has ended every running request, and
  // where the device is lost every waiting one too.
  Status step();
  // Nothing runs and nothing waits.
  bool is_idle() const;
  // Ends everything with kCancelled.
  void cancel_all();
  // Nothing runs and nothing waits, but there are answers to be computed again for the next turns of their chats.
  bool has_idle_work() const;
  // Computes some of that, for about as long as a request that comes may wait. Errors: as step.
  Status idle_step();

  // Runs one request to its end. Errors: as prepare and step; Internal too where the model gives NaN or infinities,
  // which names the position.
  Result<Generation> generate(const Request& request, const TokenCallback& on_token);
  // The same for several requests, up to max_seqs of them in one batch; each gives the tokens that it gives alone. One
  // that is refused refuses all before any is computed; the message begins with its index, as in "prompt[2]: ...".
  Result<std::vector<Generation>> generate_all(std::span<const Request> requests);

  // Runs requests, up to max_seqs of them in one batch, each to its own end: an error ends its own request alone.
  // `on_end` is told the request's index and what it gave, or why it gave nothing, as soon as that is known; both
  // callbacks must not call the engine.
  void generate_each(std::span<const Request> requests,
                     const std::function<bool(size_t idx, const TokenEvent& event)>& on_token,
                     const std::function<void(size_t idx, Result<Generation> generation)>& on_end);

  // Logits of the last n_last tokens of `tokens`, [n_last, n_vocab]. The first n_prompt tokens are computed by the
  // prefill arithmetic, the others by the decode arithmetic, and none of them is taken from the cache. `kv`, where not
  // null, gets what the cache then holds of all tokens. Errors: as generate; Cancelled.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                    KvNumbers* kv = nullptr);

  // Ends a running generate with kCancelled, within one step. Any thread; one atomic store.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // The adapters that requests may name, and the prefixes that they may find.
  Adapters& adapters() { return *adapters_; }
  Prefixes& prefixes() { return *prefixes_; }
  const Prefixes& prefixes() const { return *prefixes_; }

  // While nothing runs: runs steps of decode rows in every usual number and depth, of the drafter too, so that what a
  // backend prepares for each is there before the first request. Forgets all cached prefixes. Errors: as step.
  Status warm_up();
  // Forgets all prefixes, or those that `tenant`'s requests have left, and the answers that would become some.
  void forget_prefixes(std::optional<uint64_t> tenant = std::nullopt);
  // Zeroes what ended requests have left in memory and no prefix can be found in, between steps and some of it at a
  // time: true when it is all done. What running requests hold is not touched.
  bool wipe_some();
  uint32_t n_ctx() const { return options_.n_ctx; }
  uint32_t max_seqs() const { return options_.max_seqs; }
  const EngineCounters& counters() const { return counters_; }
  // For tests: who holds blocks.
  std::span<const SequencePtr> running() const;
  std::span<const SequencePtr> idle_sequence() const;

  // Guesses by another model from now on; it must outlive the engine. Null: from the text so far.
  void set_drafter(ModelDrafter* drafter);
  // Is told the operations of every step from now on, and the tokens that it computed. Without an observer, only steps
  // of requests that want a trace are traced.
  void set_step_observer(StepObserver observer);

 private:
  Engine(const Model& model, Backend& backend, const ForwardPrograms& forward, const ForwardOutputs& outputs,
         std::vector<TokenId> end_tokens, const EngineOptions& options);

  Status try_step();
  Status try_idle_step();
  void end_all(FinishReason reason, const Error* error);
  void fail_step(const Error& error);
  Status run_until_idle();
  void read_kv(const Sequence& sequence, uint32_t n_rows, KvNumbers& kv) const;
  void publish_counters();

  const ModelConfig& config_;
  Backend& backend_;
  const ProgramId forward_;
  const EngineOptions options_;
  EngineCounters counters_;
  const std::unique_ptr<Adapters> adapters_;
  const std::unique_ptr<Prefixes> prefixes_;
  const std::unique_ptr<IdlePrefill> idle_prefill_;
  const std::unique_ptr<Admission> admission_;
  const std::unique_ptr<Step> step_;
  const std::unique_ptr<MaskTurns> masks_;
  const std::unique_ptr<Results> results_;
  ModelDrafter* drafter_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

}  // namespace realizar::engine
