// The only generation loop: run, server, benchmark and library submit a Request and read tokens. It owns the counters
// and delegates the rest: Prefixes has the KV blocks, Admission decides which sequences run, Step what is computed,
// Results processes the results. Every step computes one mixed batch of decoding sequences and prompt chunks. One
// thread at a time may call, unless a function says otherwise. A decode step allocates, locks and prints nothing,
// except in a request's constraint.
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
  // Creates the cache and all buffers, has the backend compile the model, and reserves the memory of all steps. `model`
  // and `backend` must outlive the engine. `end_tokens` stop every request that does not ignore them. Errors:
  // InvalidArgument, ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<Engine>> create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                                const EngineOptions& options);
  ~Engine();

  // Checks a request and allocates what the engine needs for it. Any thread. `request` and `sink` must outlive the
  // sequence, which ends with sink.on_end. Errors: InvalidArgument (empty prompt, id outside the vocabulary, a sampling
  // parameter out of range, by name), ContextLengthExceeded (both numbers, before any computation).
  Result<SequencePtr> prepare(const Request& request, RequestSink& sink);
  // The most requests that wait and run at once; see Admission::set_max_open. Call before the first request.
  void set_max_open(uint32_t max_open);
  // Adds it to the waiting sequences.
  void submit(SequencePtr sequence);
  // The cached prefixes that a request can find depend on two values: the salt of their names in this engine's cache,
  // and the adapter part of the salt, if there is an adapter. Any thread. Errors: NotFound, InvalidArgument (for the
  // adapter).
  struct PrefixSalt {
    uint64_t cache_salt = 0;
    uint64_t adapter_fingerprint = 0;
    float adapter_factor = 0;  // 0: no adapter
  };
  Result<PrefixSalt> prefix_salt_of(const Request& request);
  // Admits waiting sequences that fit, computes one batch and delivers its tokens. An error (Internal: the device
  // failed, or a request's sink or constraint threw; ResourceExhausted: memory ran out) has ended every running
  // request, and if the device is lost every waiting one too.
  Status step();
  // Whether nothing runs and nothing waits.
  bool is_idle() const;
  // Ends everything with kCancelled.
  void cancel_all();
  // Whether nothing runs and nothing waits, but there are answers to recompute for the next turns of their chats.
  bool has_idle_work() const;
  // Does some of that, for about as long as a new request may wait. Errors: as step.
  Status idle_step();

  // Runs one request to its end. Errors: as prepare and step; also Internal if the model returns NaN or infinities,
  // with the position.
  Result<Generation> generate(const Request& request, const TokenCallback& on_token);
  // Runs several requests, up to max_seqs of them in one batch; each gives the same tokens as by itself. If one is
  // invalid, none is computed; the message begins with its index, as in "prompt[2]: ...".
  Result<std::vector<Generation>> generate_all(std::span<const Request> requests);

  // Runs requests, up to max_seqs of them in one batch, each to its own end: an error ends only its own request.
  // `on_end` gets the request's index and its result or error, as soon as that is known; neither callback may call the
  // engine.
  void generate_each(std::span<const Request> requests,
                     const std::function<bool(size_t idx, const TokenEvent& event)>& on_token,
                     const std::function<void(size_t idx, Result<Generation> generation)>& on_end);

  // Logits of the last n_last tokens of `tokens`, [n_last, n_vocab]. The first n_prompt tokens are computed by the
  // prefill arithmetic, the others by the decode arithmetic, and none of them comes from the cache. `kv`, unless null,
  // gets the cache's content for all tokens. Errors: as generate; Cancelled.
  Result<std::vector<float>> logits(std::span<const TokenId> tokens, uint32_t n_prompt, uint32_t n_last,
                                    KvNumbers* kv = nullptr);

  // Ends a running generate with kCancelled, within one step. Any thread; one atomic store.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // The adapters that requests may name, and the prefixes that they may find.
  Adapters& adapters() { return *adapters_; }
  Prefixes& prefixes() { return *prefixes_; }
  const Prefixes& prefixes() const { return *prefixes_; }

  // Call while nothing runs: runs decode steps of every usual size and depth, for the drafter too, so that the backend
  // prepares for each before the first request. Forgets all cached prefixes. Errors: as step.
  Status warm_up();
  // Forgets all prefixes, or those of `tenant`'s requests, and the answers that would become prefixes.
  void forget_prefixes(std::optional<uint64_t> tenant = std::nullopt);
  // Zeroes data of ended requests that is not part of a prefix, between steps and some of it at a time. True when all
  // is done. Running requests keep theirs.
  bool wipe_some();
  uint32_t n_ctx() const { return options_.n_ctx; }
  uint32_t max_seqs() const { return options_.max_seqs; }
  const EngineCounters& counters() const { return counters_; }
  // For tests: the holders of blocks.
  std::span<const SequencePtr> running() const;
  std::span<const SequencePtr> idle_sequence() const;

  // Speculative tokens come from another model from now on; it must outlive the engine. Null: from the text so far.
  void set_drafter(ModelDrafter* drafter);
  // The observer gets the operations of every step from now on, and the number of its tokens. Without an observer, only
  // steps of requests that want a trace are traced.
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
