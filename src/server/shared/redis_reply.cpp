#include "server/shared/redis_reply.h"

#include <fmt/format.h>
#include <hiredis/read.h>

#include <utility>

#include "base/caught.h"
#include "base/printable.h"

namespace realizar::server {
namespace {

// hiredis calls these to create the objects of a reply; null ends reading with an error. It calls them before it
// allocates a list, and when all of a text has arrived.
RedisReply* made_reply(const redisReadTask* task, RedisReply reply) {
  RedisReply* made = nullptr;
  const Status status = caught([&] {
    if (task->parent == nullptr) {
      made = new RedisReply(std::move(reply));
      return;
    }
    auto* list = static_cast<RedisReply*>(task->parent->obj);
    made = &list->list.at(static_cast<size_t>(task->idx));
    *made = std::move(reply);
  });
  return status.ok() ? made : nullptr;
}

void* make_text(const redisReadTask* task, char* text, size_t n_bytes) {
  RedisReply reply;
  reply.kind = task->type == REDIS_REPLY_ERROR    ? RedisReply::Kind::kError
               : task->type == REDIS_REPLY_STATUS ? RedisReply::Kind::kStatus
                                                  : RedisReply::Kind::kText;
  if (!caught([&] { reply.text.assign(text, n_bytes); }).ok()) return nullptr;
  return made_reply(task, std::move(reply));
}

void* make_list(const redisReadTask* task, size_t n_items) {
  auto& left = *static_cast<ReplyBounds*>(task->privdata);
  const bool is_deep = task->parent != nullptr && task->parent->parent != nullptr;
  if (is_deep || n_items > left.n_items) return nullptr;
  left.n_items -= n_items;
  RedisReply reply;
  reply.kind = RedisReply::Kind::kList;
  if (!caught([&] { reply.list.resize(n_items); }).ok()) return nullptr;
  return made_reply(task, std::move(reply));
}

void* make_number(const redisReadTask* task, long long number) {
  RedisReply reply;
  reply.kind = RedisReply::Kind::kNumber;
  reply.number = number;
  return made_reply(task, std::move(reply));
}

// Types of RESP3, which newer versions of hiredis also read, and which were not requested.
template <class Functions>
void refuse_resp3(Functions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask*, double, char*, size_t) -> void* { return nullptr; };
    functions.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
  }
}

redisReplyObjectFunctions* reply_functions() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made{};
    made.createString = make_text;
    made.createArray = [](const redisReadTask* task, auto n_items) -> void* {
      return n_items < 0 ? nullptr : make_list(task, static_cast<size_t>(n_items));
    };
    made.createInteger = make_number;
    made.createNil = [](const redisReadTask* task) -> void* { return made_reply(task, RedisReply()); };
    made.freeObject = [](void* reply) { delete static_cast<RedisReply*>(reply); };
    refuse_resp3(made);
    return made;
  }();
  return &functions;
}

}  // namespace

void RedisReader::Free::operator()(redisReader* reader) const {
  redisReaderFree(reader);
}

RedisReader::RedisReader()
    : left_(std::make_unique<ReplyBounds>()), reader_(redisReaderCreateWithFunctions(reply_functions())) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = left_.get();
  reader_->maxbuf = 0;  // it keeps its buffer: values arrive one after the other, and new memory takes time
}

RedisReader::~RedisReader() = default;
RedisReader::RedisReader(RedisReader&&) noexcept = default;
RedisReader& RedisReader::operator=(RedisReader&&) noexcept = default;

void RedisReader::set_bounds(const ReplyBounds& bounds) {
  *left_ = bounds;
}

// The parser keeps a text until its end has arrived, whatever length its head announces.
Status RedisReader::feed(std::span<const char> bytes) {
  if (bytes.size() > left_->n_bytes) return format_error("replies that are longer than they can be", "redis");
  left_->n_bytes -= bytes.size();
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK) return {};
  return format_error("a reply that cannot be kept", "redis");
}

Result<std::optional<RedisReply>> RedisReader::next() {
  void* read = nullptr;
  if (redisReaderGetReply(reader_.get(), &read) != REDIS_OK) {
    return format_error(fmt::format("no reply of Redis: {}", printable(reader_->errstr)), "redis");
  }
  if (read == nullptr) return std::optional<RedisReply>();
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(read));
  return std::optional<RedisReply>(std::move(*reply));
}

}  // namespace realizar::server
