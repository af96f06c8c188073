#include <algorithm>
#include <utility>

#include "base/caught.h"
#include "base/printable.h"
#include "engine/prefixes.h"
#include "server/shared/shared_prefixes.h"

namespace realizar::server {
namespace {

using Clock = SharedTransfer::Clock;

constexpr uint32_t kLeastTokens = 64;      // missing ones; fewer are not requested
constexpr size_t kMostFetches = 8;         // at once, of all models
constexpr uint32_t kMostAdding = 2;        // slices waiting for the engine
constexpr size_t kQuickTokens = 16 << 10;  // of a text that the I/O thread hashes: 0.1 ms
constexpr double kLeastMs = 1;             // a shorter time is not enough for any answer

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Clock::duration ms(double n) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(std::min(n, 1e9)));
}

}  // namespace

bool SharedPrefixes::fetch(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                           std::function<void()> then) {
  const auto begun = caught([&]() -> Result<bool> { return try_fetch(model, request, cache_name, std::move(then)); });
  return begun.ok() && *begun;
}

bool SharedPrefixes::try_fetch(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                               std::function<void()> then) {
  // With scores of the prompt, all of it must be computed.
  const bool is_computed = request.prompt.empty() || request.prompt_logprobs;
  if (!health_.is_up() || cache_name.empty() || is_computed) return false;
  engine::Engine& engine = *model->loaded->engine;
  const uint32_t block_tokens = std::as_const(engine).prefixes().blocks().block_tokens();
  // The last token is computed anyway.
  const size_t n_tokens = (request.prompt.size() - 1) / block_tokens * block_tokens;
  if (n_tokens < kLeastTokens) return false;
  const auto salt = engine.prefix_salt_of(request);
  if (!salt.ok()) return false;  // the engine reports the reason
  const SharedTransferPtr transfer =
      make_transfer(model, request, *salt, cache_name, std::span(request.prompt).first(n_tokens), false);
  transfer->then = std::move(then);
  transfer->rate = rates_[model->id];
  if (n_tokens <= kQuickTokens) {
    transfer->text.emplace(engine.prefixes().pieces_of(transfer->tokens, salt->cache_salt, request.tenant));
    if (is_local(*transfer)) return false;
  }
  if (!begin_waiting(transfer, request.timeout_ms)) return false;
  // Without memory for it, its time expires.
  static_cast<void>(caught([&] { threads_.add_fetch([this, transfer](RedisLink&) { begin_fetch(transfer); }); }));
  return true;
}

// Whether the cache had the text except for a few blocks when last checked, and has evicted few blocks since. So most
// requests of a chat neither ask nor wait for the engine's next step.
bool SharedPrefixes::is_local(const SharedTransfer& transfer) {
  const engine::TextPieces& text = *transfer.text;
  if (text.rules().n_kinds() > 1) return false;
  const engine::EngineCounters& counters = transfer.model->thread->engine().counters();
  const auto n_evicted = static_cast<int64_t>(counters.n_evicted_blocks.load(std::memory_order_relaxed));
  const int64_t n_few = counters.n_blocks / 4;
  uint32_t n_known = 0;
  const std::lock_guard lock(mutex_);
  for (; n_known < text.n_blocks(); ++n_known) {
    const auto mark = local_.find(text.hash_of(n_known));
    if (!mark || n_evicted - *mark > n_few) break;
  }
  return (text.n_blocks() - n_known) * text.rules().block_tokens < kLeastTokens;
}

// For is_local.
void SharedPrefixes::note_local(const SharedTransfer& transfer, uint32_t n_blocks) {
  const engine::EngineCounters& counters = transfer.model->thread->engine().counters();
  const auto n_evicted = static_cast<int64_t>(counters.n_evicted_blocks.load(std::memory_order_relaxed));
  const std::lock_guard lock(mutex_);
  for (uint32_t block = 0; block < n_blocks; ++block) local_.note(transfer.text->hash_of(block), n_evicted);
}

bool SharedPrefixes::begin_waiting(const SharedTransferPtr& transfer, std::optional<uint32_t> timeout_ms) {
  const std::lock_guard lock(mutex_);
  const double wanted_ms = options_.wait_ms ? *options_.wait_ms : transfer->rate.ms_for(transfer->tokens.size());
  const double budget_ms = timeout_ms ? std::min<double>(wanted_ms, *timeout_ms) : wanted_ms;
  const bool is_worth_it = options_.wait_ms || (budget_ms >= kLeastMs && pace_.ms_for(2, 0, Clock::now()) < budget_ms);
  if (is_stopped_ || waiting_.size() >= kMostFetches || !is_worth_it) return false;
  transfer->deadline = transfer->start + ms(budget_ms);
  waiting_.emplace(transfer->deadline, transfer);
  changed_.notify_all();
  return true;
}

// Or the end. Under the mutex.
SharedPrefixes::Waiting::iterator SharedPrefixes::find_waiting(const SharedTransferPtr& transfer) {
  const auto [begin, end] = waiting_.equal_range(transfer->deadline);
  const auto at = std::find_if(begin, end, [&](const auto& one) { return one.second == transfer; });
  return at == end ? waiting_.end() : at;
}

void SharedPrefixes::shorten_deadline(const SharedTransferPtr& transfer, double budget_ms) {
  const std::lock_guard lock(mutex_);
  const auto at = find_waiting(transfer);
  if (at == waiting_.end()) return;
  auto node = waiting_.extract(at);
  node.key() = transfer->deadline = std::min(transfer->deadline, transfer->start + ms(budget_ms));
  waiting_.insert(std::move(node));
  changed_.notify_all();
}

// Only the first call counts.
void SharedPrefixes::finish(const SharedTransferPtr& transfer, Outcome outcome) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = find_waiting(transfer);
    if (at == waiting_.end()) return;
    waiting_.erase(at);
  }
  transfer->is_over.store(true, std::memory_order_relaxed);
  SharedCounters::Count* const counts[] = {&counters_.n_hits, &counters_.n_misses, &counters_.n_late, nullptr};
  if (auto* count = counts[static_cast<size_t>(outcome)]) {
    count->fetch_add(1, std::memory_order_relaxed);
    counters_.n_wait_us.fetch_add(static_cast<uint64_t>(ms_since(transfer->start) * 1e3), std::memory_order_relaxed);
  }
  transfer->then();
}

void SharedPrefixes::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto deadline = waiting_.begin()->first;
    if (Clock::now() < deadline) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    SharedTransferPtr transfer = waiting_.begin()->second;
    lock.unlock();  // which is needed to destroy the last reference to a transfer
    static_cast<void>(caught([&] { finish(transfer, Outcome::kLate); }));
    transfer.reset();
    lock.lock();
  }
}

void SharedPrefixes::begin_fetch(const SharedTransferPtr& transfer) {
  const Status named = caught([&] { return name_text(*transfer); });
  if (!named.ok() || !health_.is_up()) return finish(transfer, Outcome::kMiss);
  visit(transfer, [this, transfer](engine::Engine&) {
    transfer->here = transfer->text->find();
    threads_.add_fetch([this, transfer](RedisLink& link) { look_up(link, transfer); });
  });
}

// Finds which of the missing pieces Redis has, and how many can be fetched in the remaining time.
void SharedPrefixes::look_up(RedisLink& link, const SharedTransferPtr& transfer) {
  const engine::TextPieces& text = *transfer->text;
  const engine::PieceRules& rules = text.rules();
  const uint32_t n_local = engine::longest_usable(rules, text.n_blocks(), transfer->here);
  const uint32_t n_missing_tokens = (text.n_blocks() - n_local) * rules.block_tokens;
  note_local(*transfer, n_local);
  if (n_missing_tokens < kLeastTokens) return finish(transfer, Outcome::kLocal);
  if (!health_.is_up()) return finish(transfer, Outcome::kMiss);
  if (!options_.wait_ms) shorten_deadline(transfer, transfer->rate.ms_for(n_missing_tokens));
  const auto missing =
      pieces_where(text, [&](const PieceAt& piece) { return !transfer->here[transfer->flag_of(piece)]; });
  const auto found = exist(link, *transfer, missing, transfer->deadline);
  if (!found.ok()) return finish(transfer, outcome_of(found.error()));
  engine::PieceFlags are_there = transfer->here;
  for (size_t i = 0; i < missing.size(); ++i) are_there[transfer->flag_of(missing[i])] = (*found)[i];
  uint32_t n_blocks = engine::longest_usable(rules, text.n_blocks(), are_there);
  if (!options_.wait_ms) {
    const double left_ms = std::chrono::duration<double, std::milli>(transfer->deadline - Clock::now()).count();
    const std::lock_guard lock(mutex_);
    const size_t n_fit = pace_.bytes_in(left_ms, Clock::now()) / std::max<size_t>(text.bytes_of(0), 1);
    const auto most = static_cast<uint32_t>(std::min<size_t>(n_blocks, n_local + n_fit));
    n_blocks = engine::longest_usable(rules, most, are_there);
  }
  if ((n_blocks - n_local) * rules.block_tokens < kLeastTokens) return finish(transfer, Outcome::kMiss);
  for (const PieceAt& piece : missing) {
    if (rules.needs(piece, n_blocks)) transfer->wanted.push_back(piece);
  }
  visit(transfer, [transfer, n_local](engine::Engine&) { transfer->text->touch(n_local); });
  fetch_some(link, transfer);
}

// Fetches the next slice; other transfers have their turns between two.
void SharedPrefixes::fetch_some(RedisLink& link, const SharedTransferPtr& transfer) {
  if (transfer->is_over.load(std::memory_order_relaxed)) return;
  const size_t begin = transfer->n_done;
  if (begin == transfer->wanted.size() || transfer->has_no_room) {
    return finish(transfer, begin > 0 ? Outcome::kHit : Outcome::kMiss);
  }
  const size_t end = std::min(transfer->slice_end(kSliceBytes), begin + kPiecesAtOnce);
  std::vector<std::string> keys;
  ReplyBounds bounds{kReplyBytes, end - begin};
  for (size_t i = begin; i < end; ++i) {
    keys.push_back(transfer->names->key_of(transfer->wanted[i]));
    bounds.n_bytes += kReplyBytes + transfer->max_value_bytes_of(transfer->wanted[i]);
  }
  RedisLink::Command command{"MGET"};
  command.insert(command.end(), keys.begin(), keys.end());
  std::vector<std::byte> slice(transfer->bytes_until(end));
  const auto asked_at = Clock::now();
  const auto replies = link.ask(std::span(&command, 1), bounds, transfer->deadline);
  note_pace(link, replies.ok() ? nullptr : &replies.error(), slice.size(), asked_at);
  if (!replies.ok()) return finish(transfer, begin > 0 ? Outcome::kHit : outcome_of(replies.error()));
  const size_t n_sound = read_values(link, *transfer, end, replies->front(), slice);
  if (begin + n_sound < end) transfer->wanted.resize(begin + n_sound);
  if (n_sound > 0) {
    slice.resize(transfer->bytes_until(begin + n_sound));
    transfer->n_done += n_sound;
    add_slice(transfer, begin, begin + n_sound, std::move(slice));
  }
  {
    const std::lock_guard lock(mutex_);
    transfer->waits_for_adding = transfer->n_adding >= kMostAdding && transfer->n_done < transfer->wanted.size();
    if (transfer->waits_for_adding) return;
  }
  threads_.add_fetch([this, transfer](RedisLink& other) { fetch_some(other, transfer); });
}

// One that ended too early counts as if it had brought at least a sixteenth: a Redis that was slow once is not avoided
// forever.
void SharedPrefixes::note_pace(const RedisLink& link, const Error* error, size_t n_asked_bytes,
                               Clock::time_point asked_at) {
  counters_.n_read_bytes.fetch_add(link.n_received(), std::memory_order_relaxed);
  if (error != nullptr && error->subject != kRedisIsSlow) return;
  const std::lock_guard lock(mutex_);
  if (n_asked_bytes == 0) return pace_.observe_trip(ms_since(asked_at), Clock::now());
  pace_.observe_bytes(std::max(link.n_received(), n_asked_bytes / 16), ms_since(asked_at), Clock::now());
}

// How many of the values, from the first on, are the expected pieces. An invalid one is removed, so that it is sent
// again.
size_t SharedPrefixes::read_values(RedisLink& link, SharedTransfer& transfer, size_t end, const RedisReply& reply,
                                   std::span<std::byte> slice) {
  const size_t begin = transfer.n_done;
  if (reply.kind != RedisReply::Kind::kList || reply.list.size() != end - begin) {
    health_.note_lost(reply.is_error() ? realizar::shown(reply.text) : "it answers what was not asked", Clock::now());
    return 0;
  }
  size_t n_sound = 0;
  for_each_piece(transfer, begin, end, slice, [&](const PieceAt& piece, std::span<std::byte> bytes) {
    const RedisReply& value = reply.list[n_sound];
    const bool is_sound = value.kind == RedisReply::Kind::kText && read_value(value.text, transfer.piece(piece), bytes);
    n_sound += is_sound ? 1 : 0;
    return is_sound;
  });
  if (n_sound == end - begin) return n_sound;
  const PieceAt& bad = transfer.wanted[begin + n_sound];
  note_sent(transfer, bad, false);
  if (reply.list[n_sound].kind == RedisReply::Kind::kText) {
    counters_.n_bad_values.fetch_add(1, std::memory_order_relaxed);
  }
  const std::string key = transfer.names->key_of(bad);
  const RedisLink::Command command{"UNLINK", key};
  static_cast<void>(link.ask(std::span(&command, 1), {}, transfer.deadline));
  return n_sound;
}

void SharedPrefixes::add_slice(const SharedTransferPtr& transfer, size_t begin, size_t end,
                               std::vector<std::byte> slice) {
  {
    const std::lock_guard lock(mutex_);
    ++transfer->n_adding;
  }
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(slice));
  visit(transfer, [this, transfer, begin, end, bytes](engine::Engine& engine) {
    uint64_t n_blocks = 0;
    if (is_forgotten(*transfer)) transfer->has_no_room = true;
    const auto add = [&](const PieceAt& piece, std::span<const std::byte> own) {
      const bool is_added = !transfer->has_no_room && transfer->text->add(piece, own);
      if (!is_added) transfer->has_no_room = true;
      n_blocks += is_added && piece.kind == 0 ? 1 : 0;
      return is_added;
    };
    for_each_piece(*transfer, begin, end, std::span(*bytes), add);
    engine.prefixes().publish_counters();
    counters_.n_hit_tokens.fetch_add(n_blocks * transfer->block_tokens(), std::memory_order_relaxed);
    on_added(transfer);
  });
}

void SharedPrefixes::on_added(const SharedTransferPtr& transfer) {
  {
    const std::lock_guard lock(mutex_);
    --transfer->n_adding;
    if (!std::exchange(transfer->waits_for_adding, false)) return;
  }
  threads_.add_fetch([this, transfer](RedisLink& link) { fetch_some(link, transfer); });
}

}  // namespace realizar::server
