// The one engine: run, server, benchmark and library hand it a Request and read tokens. It owns the KV blocks and the
// counters, and leaves the rest to three parts: Admission says who runs, Step what is computed, Results what becomes of
// it. Every step computes one mixed batch of decoding sequences and prompt chunks. One thread at a time may call, save
// where a function says more. A decode step allocates, locks and prints nothing, except what a request's constraint
// does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "engine/adapters.h"
#include "engine/admission.h"
#include "engine/cached_prefix.h"
#include "engine/counters.h"
#include "engine/engine_options.h"
#include "engine/host_blocks.h"
#include "engine/idle_prefill.h"
#include "engine/mask_turns.h"
#include "engine/model_drafter.h"
#include "engine/results.h"
#include "engine/sequence.h"
#include "engine/step.h"
#include "kv/block_pool.h"
#include "model/forward.h"
#include "model/model.h"
#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar::engine {

class Engine {
 public:
  // What the backend must be configured with before the model is loaded on it, and the cache that it is then asked for.
  static BackendLimits limits_for(const EngineOptions& options);
  // What the lists of such a cache's blocks take of the host's memory, whatever the backend.
  static uint64_t list_bytes_for(const ModelConfig& config, const EngineOptions& options);
  static CacheLayout cache_layout_for(const ModelConfig& config, const EngineOptions& options);

  // Creates the cache and all buffers, and has the backend compile the model and take the memory of all steps. `model`
  // and `backend` must outlive the engine. `end_tokens` stop every request that does not ignore them. Errors:
  // InvalidArgument, ResourceExhausted, Unsupported (KV type).
  static Result<std::unique_ptr<Engine>> create(const Model& model, Backend& backend, std::vector<TokenId> end_tokens,
                                                const EngineOptions& options);

  // Checks a request and makes what the engine needs for it. Any thread. `request` and `sink` must outlive the
  // sequence, which ends with sink.on_end. Errors: InvalidArgument (empty prompt, id outside the vocabulary, a sampling
  // parameter out of range, by name), ContextLengthExceeded (both numbers, before any computation).
  Result<SequencePtr> prepare(const Request& request, RequestSink& sink);
  // Requests that wait and run at once, as Admission::set_max_open has it. Before the first one.
  void set_max_open(uint32_t max_open) { admission_.set_max_open(max_open); }
  // Puts it among those that wait.
  void submit(SequencePtr sequence);
  // Takes in what waits and fits, computes one batch and hands out its tokens. An error (Internal: the device failed,
  // or a request's sink or constraint threw; ResourceExhausted: memory ran out) has ended every running request, and
  // where the device is lost every waiting one too.
  Status step();
  // Nothing runs and nothing waits.
  bool is_idle() const { return admission_.is_idle(); }
  // Ends everything with kCancelled.
  void cancel_all();
  // Nothing runs and nothing waits, but there are answers to be computed again for the next turns of their chats.
  bool has_idle_work() const { return is_idle() && idle_prefill_.has_work(); }
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

  // Reads an adapter's file and takes a place for it; Adapters::write_some then brings it there. Any thread. Errors:
  // read_adapter's, and those of Adapters::begin_load.
  Result<std::unique_ptr<AdapterLoad>> read_adapter(const AdapterSource& source);
  // The same to its end, between steps.
  Status load_adapter(const AdapterSource& source);
  Adapters& adapters() { return adapters_; }
  const Adapters& adapters() const { return adapters_; }

  // The cache_salt of whoever is called `name`. No client can compute another's. Any thread, after load_cache.
  uint64_t cache_salt_of(std::string_view name) const { return pool_.salt_of(name); }
  // While nothing runs: runs steps of decode rows in every usual number and depth, of the drafter too, so that what a
  // backend prepares for each is there before the first request. Forgets all cached prefixes. Errors: as step.
  Status warm_up();
  // Forgets cached prefixes: all of them, or those that `tenant`'s requests have left.
  void forget_prefixes(std::optional<uint64_t> tenant = std::nullopt);
  // Zeroes what ended requests have left in memory and no prefix can be found in, between steps and some of it at a
  // time: true when it is all done. What running requests hold is not touched.
  bool wipe_some();
  // Keeps cached prefixes in a file, or takes them from there, while nothing runs. `source` stands for the program and
  // the bytes of the weights; the engine adds what else decides a block's bytes. Both give the number of blocks. What
  // was cached before is forgotten where a file is loaded. Errors: InvalidArgument where the file cannot be written.
  Result<uint32_t> save_cache(const std::string& path, uint64_t source, uint64_t max_bytes) const;
  uint32_t load_cache(const std::string& path, uint64_t source);
  // One prefix out of the cache and into it, between steps (cached_prefix.h).
  HeldPrefix hold_prefix(std::span<const TokenId> tokens, uint64_t cache_salt);
  void read_piece(const HeldPrefix& prefix, uint64_t piece, std::span<std::byte> bytes) const;
  std::unique_ptr<NewPrefix> begin_prefix(std::vector<TokenId> tokens);
  bool add_block(NewPrefix& prefix, uint32_t group, uint32_t n_short_tokens, std::span<const std::byte> bytes);
  bool add_state(NewPrefix& prefix, std::span<const std::byte> bytes) { return prefix.add_state(backend_, bytes); }
  void name_prefix(NewPrefix& added, uint64_t cache_salt, uint64_t owner);
  uint32_t forget_prefix(std::span<const TokenId> tokens, uint64_t cache_salt);
  // What files of prefixes must fit. Any thread.
  PrefixShape prefix_shape(uint64_t source) const;
  uint32_t n_ctx() const { return options_.n_ctx; }
  uint32_t max_seqs() const { return options_.max_seqs; }
  const EngineCounters& counters() const { return counters_; }
  // For tests: the blocks and the slots for states (null: there are none), and who holds them.
  const kv::BlockPool& pool() const { return pool_; }
  const kv::BlockPool* states() const { return states_.get(); }
  std::span<const SequencePtr> running() const { return admission_.running(); }
  std::span<const SequencePtr> idle_sequence() const { return idle_prefill_.sequence(); }

  // Guesses by another model from now on; it must outlive the engine. Null: from the text so far.
  void set_drafter(ModelDrafter* drafter);
  // Is told the operations of every step from now on, and the tokens that it computed. Without an observer, only steps
  // of requests that want a trace are traced.
  void set_step_observer(StepObserver observer) { step_.set_observer(std::move(observer)); }

 private:
  Engine(const Model& model, Backend& backend, const ForwardPrograms& forward, const ForwardOutputs& outputs,
         std::vector<TokenId> end_tokens, const EngineOptions& options);

  SequenceLimits limits_of_sequences() const;
  uint64_t adapted_salt(const Request& request, const AdapterHold& adapter) const;
  Status try_step();
  Status try_idle_step();
  void end_all(FinishReason reason, const Error* error);
  void fail_step(const Error& error);
  Status run_until_idle();
  void read_kv(const Sequence& sequence, uint32_t n_rows, KvNumbers& kv) const;
  uint64_t fingerprint(uint64_t source) const;
  void publish_counters();

  const ModelConfig& config_;
  Backend& backend_;
  const ProgramId forward_;
  const EngineOptions options_;
  const Model& model_;
  Adapters adapters_;
  EngineCounters counters_;
  HostBlocks host_blocks_;
  const LayerGroups groups_;
  kv::BlockPool pool_;
  const std::unique_ptr<kv::BlockPool> states_;  // slots for states; null: no layer is recurrent
  IdlePrefill idle_prefill_;
  Admission admission_;
  Step step_;
  MaskTurns masks_;
  Results results_;
  ModelDrafter* drafter_ = nullptr;
  std::atomic<bool> cancelled_{false};
};

}  // namespace realizar::engine
