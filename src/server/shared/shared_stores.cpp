#include <algorithm>
#include <cstring>
#include <utility>

#include "base/caught.h"
#include "base/printable.h"
#include "base/try.h"
#include "engine/prefixes.h"
#include "server/shared/shared_prefixes.h"

namespace realizar::server {
namespace {

constexpr size_t kMostStores = 16;  // at once, of all models
constexpr int64_t kNotSent = -1;

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(SharedTransfer::Clock::now().time_since_epoch()).count();
}

// If two pieces have the same short name, the only harm is that one of them is not sent.
uint64_t short_name(const Sha256& chain, uint32_t kind) {
  uint64_t name = 0;
  std::memcpy(&name, chain.data(), sizeof name);
  return name + kind;
}

}  // namespace

void SharedPrefixes::offer(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                           std::span<const TokenId> tokens) {
  static_cast<void>(caught([&] { try_offer(model, request, cache_name, tokens); }));
}

void SharedPrefixes::try_offer(const ServedModelPtr& model, const Request& request, std::string_view cache_name,
                               std::span<const TokenId> tokens) {
  if (!health_.is_up() || cache_name.empty() || !health_.takes_values(Clock::now())) return;
  engine::Engine& engine = *model->loaded->engine;
  const uint32_t block_tokens = std::as_const(engine).prefixes().blocks().block_tokens();
  const size_t n_tokens = tokens.size() / block_tokens * block_tokens;
  const auto salt = engine.prefix_salt_of(request);
  if (n_tokens == 0 || !salt.ok()) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    if (n_stores_ >= kMostStores) {
      counters_.n_dropped_stores.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  const auto transfer = make_transfer(model, request, *salt, cache_name, tokens.first(n_tokens), true);
  threads_.add_store([this, transfer](RedisLink&) { begin_store(transfer); });
}

void SharedPrefixes::begin_store(const SharedTransferPtr& transfer) {
  if (!health_.is_up() || !name_text(*transfer).ok() || are_all_sent(*transfer)) return;
  visit(transfer, [this, transfer](engine::Engine&) {
    transfer->here = transfer->text->find();
    threads_.add_store([this, transfer](RedisLink& link) { choose_pieces(link, transfer); });
  });
}

// Lets most turns of a chat cost the engine nothing. With states or windows, only the cache knows what there is to
// send.
bool SharedPrefixes::are_all_sent(const SharedTransfer& transfer) {
  if (transfer.text->rules().n_kinds() > 1) return false;
  for (uint32_t block = 0; block < transfer.text->n_blocks(); ++block) {
    if (!is_sent(transfer, {block, 0})) return false;
  }
  return true;
}

// Chooses the cached pieces that Redis lacks.
void SharedPrefixes::choose_pieces(RedisLink& link, const SharedTransferPtr& transfer) {
  const engine::TextPieces& text = *transfer->text;
  note_local(*transfer, engine::longest_usable(text.rules(), text.n_blocks(), transfer->here));
  const auto candidates = pieces_where(text, [&](const PieceAt& piece) {
    return transfer->here[transfer->flag_of(piece)] && !is_sent(*transfer, piece);
  });
  if (!health_.is_up() || candidates.empty()) return;
  const auto found = exist(link, *transfer, candidates, std::nullopt);
  if (!found.ok()) return;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!(*found)[i]) transfer->wanted.push_back(candidates[i]);
  }
  store_some(transfer);
}

// Sends the next slice, without pieces that another request's transfer has sent since.
void SharedPrefixes::store_some(const SharedTransferPtr& transfer) {
  const auto begin = transfer->wanted.begin() + static_cast<std::ptrdiff_t>(transfer->n_done);
  transfer->wanted.erase(
      std::remove_if(begin, transfer->wanted.end(), [&](const PieceAt& piece) { return is_sent(*transfer, piece); }),
      transfer->wanted.end());
  if (transfer->n_done == transfer->wanted.size()) return;
  const size_t end = std::min(transfer->slice_end(kSliceBytes), transfer->n_done + kPiecesAtOnce);
  struct Slice {
    std::vector<std::byte> bytes;
    std::vector<bool> are_read;
  };
  const auto slice = std::make_shared<Slice>();
  slice->bytes.resize(transfer->bytes_until(end));
  slice->are_read.reserve(end - transfer->n_done);
  visit(transfer, [this, transfer, end, slice](engine::Engine&) {
    const auto read = [&](const PieceAt& piece, std::span<std::byte> bytes) {
      slice->are_read.push_back(transfer->text->read(piece, bytes));
      return true;
    };
    for_each_piece(*transfer, transfer->n_done, end, std::span(slice->bytes), read);
    threads_.add_store([this, transfer, end, slice](RedisLink& link) {
      send_slice(link, transfer, end, slice->bytes, slice->are_read);
    });
  });
}

void SharedPrefixes::send_slice(RedisLink& link, const SharedTransferPtr& transfer, size_t end,
                                std::span<const std::byte> slice, const std::vector<bool>& are_read) {
  if (!health_.is_up() || !health_.takes_values(Clock::now()) || is_forgotten(*transfer)) return;
  std::vector<PieceAt> pieces;
  std::vector<std::string> keys, values;
  size_t i = 0;
  for_each_piece(*transfer, transfer->n_done, end, slice, [&](const PieceAt& piece, std::span<const std::byte> bytes) {
    if (!are_read[i++] || is_sent(*transfer, piece)) return true;
    auto value = write_value(transfer->piece(piece), bytes);
    if (!value) return false;
    pieces.push_back(piece);
    keys.push_back(transfer->names->key_of(piece));
    values.push_back(std::move(*value));
    return true;
  });
  const std::string ttl_s = std::to_string(options_.ttl_s);
  std::vector<RedisLink::Command> commands;
  for (size_t k = 0; k < pieces.size(); ++k) commands.push_back({"SET", keys[k], values[k], "EX", ttl_s});
  const auto replies = link.ask(commands, {kReplyBytes * (commands.size() + 1), 1});  // no reply if none is left
  if (!replies.ok()) return;
  for (size_t k = 0; k < pieces.size(); ++k) {
    const RedisReply& reply = (*replies)[k];
    if (reply.is_error()) return health_.note_refused(reply.text, Clock::now());
    note_sent(*transfer, pieces[k], true);
    counters_.n_stored_pieces.fetch_add(1, std::memory_order_relaxed);
    counters_.n_sent_bytes.fetch_add(values[k].size(), std::memory_order_relaxed);
  }
  health_.note_taken();
  transfer->n_done = end;
  store_some(transfer);
}

// Redis drops values too: pieces sent long ago are looked up again.
bool SharedPrefixes::is_sent(const SharedTransfer& transfer, const PieceAt& piece) {
  const std::lock_guard lock(mutex_);
  const auto sent_at = sent_.find(short_name(transfer.names->chain_at(piece.block), piece.kind));
  return sent_at && *sent_at != kNotSent && seconds_now() - *sent_at < options_.ttl_s / 2;
}

void SharedPrefixes::note_sent(const SharedTransfer& transfer, const PieceAt& piece, bool is_there) {
  const uint64_t name = short_name(transfer.names->chain_at(piece.block), piece.kind);
  const std::lock_guard lock(mutex_);
  if (is_there || sent_.find(name)) sent_.note(name, is_there ? seconds_now() : kNotSent);
}

// Blocks that are still being sent began later.
void SharedPrefixes::forget(const KeyDigest& key, std::function<void(const Status&)> then) {
  ++n_forgotten_;
  {
    const std::lock_guard lock(mutex_);
    sent_ = RecentNames(kMostNames);
  }
  threads_.add_store([beginning = SharedNames::beginning_of(key), then = std::move(then)](RedisLink& link) {
    then(caught([&] { return remove_all(link, beginning); }));
  });
}

Status SharedPrefixes::remove_all(RedisLink& link, const std::string& beginning) {
  constexpr size_t kMostKeys = 1 << 16, kMostRounds = 1 << 20;
  std::string cursor = "0";
  for (size_t round = 0; round < kMostRounds; ++round) {
    const std::string pattern = beginning + "*";
    const RedisLink::Command scan{"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"};
    RZ_TRY(const auto scanned, link.ask(std::span(&scan, 1), {kMostKeys * kReplyBytes, kMostKeys}));
    const RedisReply& reply = scanned.front();
    if (reply.list.size() != 2) return not_found(reply.is_error() ? realizar::shown(reply.text) : "no cursor", "redis");
    cursor = reply.list[0].text;
    RedisLink::Command unlink{"UNLINK"};
    for (const RedisReply& key : reply.list[1].list) unlink.push_back(key.text);
    if (unlink.size() > 1) RZ_CHECK_OK(link.ask(std::span(&unlink, 1), {}));
    if (cursor == "0") return {};
  }
  return not_found("its list of keys does not end", "redis");
}

}  // namespace realizar::server
