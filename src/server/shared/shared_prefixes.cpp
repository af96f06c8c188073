#include "server/shared/shared_prefixes.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/caught.h"
#include "base/printable.h"
#include "base/try.h"
#include "engine/prefixes.h"

namespace realizar::server {

Status name_text(SharedTransfer& transfer) {
  engine::Prefixes& prefixes = transfer.model->loaded->engine->prefixes();
  const auto source = transfer.model->loaded->source_hash();
  if (!source) return Error{ErrorCode::kInternal, "the weights have no hash", "cache_url"};
  transfer.shape = prefixes.shape(*source);
  transfer.names.emplace(transfer.shape, transfer.salt, transfer.cache_name, transfer.tokens);
  if (!transfer.text) {
    transfer.text.emplace(prefixes.pieces_of(transfer.tokens, transfer.salt.cache_salt, transfer.owner));
  }
  transfer.tokens = {};
  return {};
}

Status SharedPrefixes::connect() {
  RedisLink link(options_.url, options_.password, threads_.stop_signal(), health_);
  const Status status = link.probe();
  if (status.ok()) return {};
  const Error& error = status.error();
  if (error.subject == kRedisRefuses) {
    const bool has_password = !options_.password.empty();
    return invalid_argument(
        fmt::format("{} refuses {}: {}{}", options_.url.shown(),
                    has_password ? "the password of --cache-password-file" : "to be used without a password",
                    error.message, has_password ? "" : "; put it into a file for --cache-password-file"),
        "cache_password_file");
  }
  spdlog::warn("Redis at {} is not there: {}; prefixes are shared as soon as it answers", options_.url.shown(),
               error.message);
  return {};
}

void SharedPrefixes::start(std::function<void(std::function<void()>)> post_io) {
  post_io_ = std::move(post_io);
  threads_.start();
  watcher_ = std::thread([this] { watch_deadlines(); });
}

// Engines drop tasks that would follow their current steps.
void SharedPrefixes::stop() {
  std::vector<SharedTransferPtr> open;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    for (const auto& [deadline, transfer] : waiting_) open.push_back(transfer);
  }
  changed_.notify_all();
  threads_.stop();
  if (watcher_.joinable()) watcher_.join();
  for (const SharedTransferPtr& transfer : open) finish(transfer, Outcome::kLate);
  open.clear();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return gone_ != nullptr || n_live_ == 0; });
      if (n_live_ == 0) return;
    }
    delete_gone();
  }
}

SharedTransferPtr SharedPrefixes::make_transfer(const ServedModelPtr& model, const Request& request,
                                                const engine::Engine::PrefixSalt& salt, std::string_view cache_name,
                                                std::span<const TokenId> tokens, bool is_store) {
  auto made = std::make_unique<SharedTransfer>();
  made->model = model;
  made->salt = salt;
  made->cache_name = cache_name;
  made->owner = request.tenant;
  made->is_store = is_store;
  made->n_forgotten = n_forgotten_;
  made->tokens.assign(tokens.begin(), tokens.end());
  made->start = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    ++n_live_;
    n_stores_ += is_store ? 1 : 0;
  }
  return {made.release(), [this](SharedTransfer* gone) { bury(gone); }};
}

// The thread that drops the last reference to a transfer must not end its model, which may be running that very thread.
void SharedPrefixes::bury(SharedTransfer* gone) {
  bool has_to_tell = false;
  {
    const std::lock_guard lock(mutex_);
    n_stores_ -= gone->is_store ? 1 : 0;
    has_to_tell = gone_ == nullptr && !is_stopped_;
    gone->next_gone = std::exchange(gone_, gone);
    changed_.notify_all();
  }
  if (has_to_tell) static_cast<void>(caught([&] { post_io_([this] { delete_gone(); }); }));
}

void SharedPrefixes::delete_gone() {
  SharedTransfer* gone = nullptr;
  {
    const std::lock_guard lock(mutex_);
    gone = std::exchange(gone_, nullptr);
  }
  while (gone != nullptr) {
    const std::unique_ptr<SharedTransfer> deleted(std::exchange(gone, gone->next_gone));
    const std::lock_guard lock(mutex_);
    --n_live_;
  }
}

void SharedPrefixes::visit(const SharedTransferPtr& transfer, std::function<void(engine::Engine&)> f) {
  transfer->model->thread->visit(
      [f = std::move(f)](engine::Engine& engine) { static_cast<void>(caught([&] { f(engine); })); });
}

// Finds which pieces Redis has; for missing ones, forgets that they were sent.
Result<std::vector<bool>> SharedPrefixes::exist(RedisLink& link, const SharedTransfer& transfer,
                                                std::span<const PieceAt> pieces,
                                                std::optional<Clock::time_point> deadline) {
  constexpr size_t kNamesAtOnce = 1024;  // per question
  std::vector<bool> found;
  while (found.size() < pieces.size()) {
    const auto now = pieces.subspan(found.size(), std::min(pieces.size() - found.size(), kNamesAtOnce));
    std::vector<std::string> keys;
    for (const PieceAt& piece : now) keys.push_back(transfer.names->key_of(piece));
    std::vector<RedisLink::Command> commands;
    for (const std::string& key : keys) commands.push_back({"EXISTS", key});
    const auto asked_at = Clock::now();
    const auto replies = link.ask(commands, {kReplyBytes * (commands.size() + 1), 1}, deadline);
    note_pace(link, replies.ok() ? nullptr : &replies.error(), 0, asked_at);
    if (!replies.ok()) return replies.error();
    for (size_t i = 0; i < now.size(); ++i) {
      const RedisReply& reply = (*replies)[i];
      if (reply.kind != RedisReply::Kind::kNumber) {
        std::string why = reply.is_error() ? realizar::shown(reply.text) : "it answers what was not asked";
        health_.note_lost(why, Clock::now());
        return not_found(std::move(why), "redis");
      }
      found.push_back(reply.number == 1);
      note_sent(transfer, now[i], reply.number == 1);
    }
  }
  return found;
}

void SharedPrefixes::observe(const ServedModel& model, const GenerationStats& stats) {
  rates_[model.id].observe(stats.n_prompt - std::min(stats.n_cached, stats.n_prompt), stats.prefill_ms);
}

Result<std::unique_ptr<SharedPrefixes>> SharedPrefixes::open(SharedOptions options) {
  std::unique_ptr<SharedPrefixes> shared(new SharedPrefixes(std::move(options)));
  RZ_CHECK_OK(shared->connect());
  return shared;
}

}  // namespace realizar::server
