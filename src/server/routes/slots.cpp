// POST /slots/ID?action=save, restore and erase, as llama.cpp's server has them: what the last request of a key has
// left in the cache under a slot's number goes to a file under a name, comes back from there, or is forgotten. Between
// two steps the engine hands out, or takes, a slice of the bytes; the file is read and written on workers.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/caught.h"
#include "base/try.h"
#include "engine/slot_file.h"
#include "server/call/context.h"
#include "server/call/protocol.h"
#include "server/call/slots.h"
#include "server/call/tenant.h"
#include "server/models/slot_folder.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kSliceBytes = size_t{16} << 20;

// What the engine's thread and the call share of a transfer. Only one of them uses it at a time.
struct Transfer {
  std::optional<engine::HeldPrefix> held;
  std::unique_ptr<engine::NewPrefix> added;
  std::vector<std::byte> slice;
  uint32_t n_done = 0;  // pieces
  Status status;
};
using TransferPtr = std::shared_ptr<Transfer>;

// Gives back on the engine's thread what a transfer holds of the cache, wherever its call ends.
class TransferEnd {
 public:
  TransferEnd(Call& call, ServedModelPtr model, TransferPtr transfer)
      : slots_(*call.context.slots), model_(std::move(model)), transfer_(std::move(transfer)) {}
  TransferEnd(const TransferEnd&) = delete;
  TransferEnd& operator=(const TransferEnd&) = delete;
  ~TransferEnd() {
    slots_.end_transfer(model_->id);
    model_->thread->visit([transfer = std::move(transfer_)](engine::Engine&) {
      transfer->held.reset();
      transfer->added.reset();
    });
  }

 private:
  SlotTable& slots_;
  const ServedModelPtr model_;
  TransferPtr transfer_;
};

// What a call asks for.
struct SlotWish {
  SlotOwner owner;
  uint32_t id = 0;
  std::string filename;
  std::string path;
};

// To be awaited: `visit` is done on the engine's thread.
auto on_engine(Call& call, const ServedModel& model, std::function<void(engine::Engine&)> visit) {
  return Lent(call, [&model, visit = std::move(visit)](const std::function<void()>& give_back) {
    model.thread->visit([visit, give_back](engine::Engine& engine) {
      visit(engine);
      give_back();
    });
  });
}

size_t bytes_of_piece(const engine::PrefixLayout& layout, const engine::PrefixShape& shape, uint32_t piece) {
  const bool is_state = layout.has_state && piece + 1 == layout.n_pieces(shape.block_tokens);
  return is_state ? shape.state_bytes : shape.block_bytes;
}

// How many pieces from `begin` on make a slice: one at least, where there is one.
uint32_t end_of_slice(const engine::PrefixLayout& layout, const engine::PrefixShape& shape, uint32_t begin,
                      size_t& n_bytes) {
  uint32_t end = begin;
  for (n_bytes = 0; end < layout.n_pieces(shape.block_tokens); ++end) {
    const size_t next = bytes_of_piece(layout, shape, end);
    if (end > begin && n_bytes + next > kSliceBytes) break;
    n_bytes += next;
  }
  return end;
}

void read_slice(const engine::Engine& engine, const engine::PrefixShape& shape, Transfer& transfer) {
  const engine::PrefixLayout& layout = transfer.held->layout();
  size_t n_bytes = 0, at = 0;
  const uint32_t end = end_of_slice(layout, shape, transfer.n_done, n_bytes);
  transfer.slice.resize(n_bytes);
  for (; transfer.n_done < end; ++transfer.n_done) {
    const size_t own = bytes_of_piece(layout, shape, transfer.n_done);
    engine.read_piece(*transfer.held, transfer.n_done, std::span(transfer.slice).subspan(at, own));
    at += own;
  }
}

Status add_slice(engine::Engine& engine, const engine::PrefixLayout& layout, const engine::PrefixShape& shape,
                 Transfer& transfer) {
  for (size_t at = 0; at < transfer.slice.size(); ++transfer.n_done) {
    const size_t own = bytes_of_piece(layout, shape, transfer.n_done);
    if (!engine.add_piece(*transfer.added, std::span(transfer.slice).subspan(at, own))) {
      return Error{ErrorCode::kResourceExhausted, "the cache has no room for the slot while other requests use it", ""};
    }
    at += own;
  }
  return {};
}

Json slot_answer(const SlotWish& wish, const char* n_tokens_name, size_t n_tokens, const char* n_bytes_name,
                 uint64_t n_bytes, const char* time_name, Clock::time_point start) {
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return {{"id_slot", wish.id},
          {"filename", wish.filename},
          {n_tokens_name, n_tokens},
          {n_bytes_name, n_bytes},
          {"timings", {{time_name, ms}}}};
}

HttpResponse slot_response(const Json& json) {
  return {200, "application/json", dump(json), {}};
}

Error empty_slot(const SlotWish& wish) {
  return invalid_argument(
      fmt::format("slot {} is empty: no request has left anything there that is still cached", wish.id), "id_slot");
}

Task<Result<Json>> save_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const auto start = Clock::now();
  const auto transfer = std::make_shared<Transfer>();
  const TransferEnd at_end(call, model, transfer);
  const Slot* slot = call.context.slots->find(wish.owner, wish.id);
  if (slot == nullptr) co_return empty_slot(wish);
  const auto shape = model->loaded->engine->prefix_shape(model->loaded->source_hash().value_or(0));
  auto holding = on_engine(call, *model, [transfer, text = *slot](engine::Engine& engine) {
    transfer->status = caught([&] { transfer->held.emplace(engine.hold_prefix(text.tokens, text.cache_salt)); });
  });
  const std::vector<TokenId> tokens = slot->tokens;
  co_await holding;
  if (!transfer->status.ok()) co_return transfer->status.error();
  const engine::PrefixLayout layout = transfer->held->layout();
  if (layout.n_tokens == 0) co_return empty_slot(wish);
  const uint64_t n_bytes = engine::SlotFileWriter::n_bytes(shape, layout);
  OnWorker creating(call, kSliceBytes, [&]() -> Result<std::unique_ptr<engine::SlotFileWriter>> {
    RZ_CHECK_OK(call.context.slot_folder->make_room(wish.path, n_bytes));
    RZ_TRY(engine::SlotFileWriter made, engine::SlotFileWriter::create(wish.path, shape, layout, tokens));
    return std::make_unique<engine::SlotFileWriter>(std::move(made));
  });
  const Result<std::unique_ptr<engine::SlotFileWriter>> created = co_await creating;
  if (!created.ok()) co_return created.error();
  engine::SlotFileWriter& file = **created;
  while (transfer->n_done < layout.n_pieces(shape.block_tokens)) {
    auto reading = on_engine(call, *model, [transfer, shape](engine::Engine& engine) {
      transfer->status = caught([&] { read_slice(engine, shape, *transfer); });
    });
    co_await reading;
    if (!transfer->status.ok()) co_return transfer->status.error();
    OnWorker writing(call, kSliceBytes, [&] { return file.write(transfer->slice); });
    const Status written = co_await writing;
    if (!written.ok()) co_return written.error();
  }
  OnWorker committing(call, kSliceBytes, [&] { return file.commit(); });
  const Status committed = co_await committing;
  if (!committed.ok()) co_return committed.error();
  co_return slot_answer(wish, "n_saved", layout.n_tokens, "n_written", n_bytes, "save_ms", start);
}

Task<Result<Json>> restore_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const auto start = Clock::now();
  const auto shape = model->loaded->engine->prefix_shape(model->loaded->source_hash().value_or(0));
  const auto transfer = std::make_shared<Transfer>();
  const TransferEnd at_end(call, model, transfer);
  OnWorker opening(call, kSliceBytes, [&] { return engine::SlotFileReader::open(wish.path, shape); });
  Result<engine::SlotFileReader> file = co_await opening;
  if (!file.ok()) co_return file.error();
  const engine::PrefixLayout layout = file->layout();
  const uint64_t salt = cache_salt_of(call.key, *model), owner = call.tenant;
  auto beginning = on_engine(call, *model, [transfer, layout, tokens = file->tokens()](engine::Engine& engine) {
    transfer->status = caught([&] { transfer->added = engine.begin_prefix(layout, tokens); });
  });
  co_await beginning;
  while (transfer->status.ok() && transfer->n_done < layout.n_pieces(shape.block_tokens)) {
    OnWorker reading(call, kSliceBytes, [&] {
      size_t n_bytes = 0;
      end_of_slice(layout, shape, transfer->n_done, n_bytes);
      transfer->slice.resize(n_bytes);
      return file->read(transfer->slice);
    });
    const Status read = co_await reading;
    if (!read.ok()) co_return read.error();
    auto adding = on_engine(call, *model, [transfer, layout, shape](engine::Engine& engine) {
      transfer->status = caught([&] { return add_slice(engine, layout, shape, *transfer); });
    });
    co_await adding;
  }
  if (!transfer->status.ok()) co_return transfer->status.error();
  OnWorker checking(call, 0, [&] { return file->check_sum(); });
  const Status checked = co_await checking;
  if (!checked.ok()) co_return checked.error();
  auto naming = on_engine(call, *model, [transfer, salt, owner](engine::Engine& engine) {
    transfer->status = caught([&] { engine.name_prefix(*transfer->added, salt, owner); });
  });
  co_await naming;
  if (!transfer->status.ok()) co_return transfer->status.error();
  call.context.slots->put(wish.owner, wish.id, {file->tokens(), salt});
  co_return slot_answer(wish, "n_restored", layout.n_tokens, "n_read", file->n_bytes(), "restore_ms", start);
}

Task<Result<Json>> erase_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const Slot* slot = call.context.slots->find(wish.owner, wish.id);
  const auto n_erased = std::make_shared<uint32_t>(0);
  if (slot != nullptr) {
    auto forgetting = on_engine(call, *model, [n_erased, text = *slot](engine::Engine& engine) {
      *n_erased = engine.forget_prefix(text.tokens, text.cache_salt);
    });
    co_await forgetting;
    call.context.slots->erase(wish.owner, wish.id);
  }
  co_return Json{{"id_slot", wish.id}, {"n_erased", *n_erased}};
}

Result<uint32_t> slot_id_of(const Call& call, const ServedModel& model) {
  const uint32_t n_slots = model.loaded->engine->max_seqs();
  uint32_t id = 0;
  const char* const end = call.path_id.data() + call.path_id.size();
  const auto [read_to, error] = std::from_chars(call.path_id.data(), end, id);
  if (error == std::errc() && read_to == end && id < n_slots) return id;
  return invalid_argument(fmt::format("there is no such slot: expected 0 to {}", n_slots - 1), "id_slot");
}

using SlotAction = Task<Result<Json>> (*)(Call& call, ServedModelPtr model, SlotWish wish);

SlotAction action_of(std::string_view name) {
  if (name == "save") return save_slot;
  if (name == "restore") return restore_slot;
  return name == "erase" ? erase_slot : nullptr;
}

Result<SlotWish> read_wish(const Call& call, Fields& body, const ServedModel& model, bool wants_file) {
  SlotWish wish;
  wish.owner = {model.id, call.key};
  RZ_TRY(wish.id, slot_id_of(call, model));
  if (!wants_file) return wish;
  wish.filename = body.text("filename").value_or("");
  if (!body.status().ok()) return body.status().error();
  RZ_CHECK_OK(check_slot_file_name(wish.filename));
  wish.path = call.context.slot_folder->path_of(call.key, wish.filename);
  return wish;
}

// A folder that is full is no reason to try again soon. What the system says, with the server's paths, is for the log.
ApiError to_slot_error(const Error& error, const std::string& path) {
  constexpr const char* kFull = "insufficient_storage";
  if (error.code == ErrorCode::kResourceExhausted && error.subject == "filename") {
    return {507, error.message, "", kFull};
  }
  if (error.code == ErrorCode::kNotFound && error.subject != "model") {
    return bad_request("the slot cannot be restored: there is no file of that name", "filename");
  }
  const bool is_disk_full = error.code == ErrorCode::kResourceExhausted && error.subject == "disk";
  const bool is_folders = error.subject == "slot_save_path", is_files = !path.empty() && error.subject == path;
  if (!is_disk_full && !is_folders && !is_files) return to_api_error(error);
  spdlog::error("slots: {}", error.message);
  if (is_disk_full) return {507, "the server's disk has no room for the slot", "", kFull};
  constexpr const char* kUnusable = "the slot's file cannot be used; the server's log says why";
  return is_files ? bad_request(kUnusable, "filename") : ApiError{500, kUnusable, "", "internal_error"};
}

}  // namespace

Task<Status> post_slot(Call& call) {
  if (call.context.slot_folder == nullptr) {
    call.fail(ApiError{501, "this server keeps no slots: start it with --slot-save-path FOLDER", "", "not_supported"});
    co_return Status();
  }
  const SlotAction action = action_of(query_value(call.request.query, "action"));
  if (action == nullptr) co_return invalid_argument("action: expected save, restore or erase", "action");
  Task<Result<Json>> reading = json_object(call);
  const Result<Json> body = co_await reading;
  if (!body.ok() || call.is_over()) co_return body.ok() ? Status() : body.error();
  std::string name = query_value(call.request.query, "model");
  if (name.empty()) name = body->value("model", Json("")).is_string() ? body->value("model", "") : "";
  ModelWait wait(call, std::move(name));
  const Result<ServedModelPtr> model = co_await wait;
  if (!model.ok()) co_return model.error();
  Fields fields(*body);
  Result<SlotWish> wish = read_wish(call, fields, **model, action != erase_slot);
  if (!wish.ok()) co_return wish.error();
  if (action != erase_slot && !call.context.slots->begin_transfer((*model)->id)) {
    call.fail(ApiError{503, "another slot of this model is being saved or restored", "", "busy"});
    co_return Status();
  }
  const std::string path = wish->path;
  Task<Result<Json>> acting = action(call, *model, std::move(*wish));
  const Result<Json> answer = co_await acting;
  if (answer.ok()) call.send(slot_response(*answer));
  if (!answer.ok()) call.fail(to_slot_error(answer.error(), path));
  co_return Status();
}

}  // namespace realizar::server
