// POST /slots/ID?action=save, restore and erase, as in llama.cpp's server: the cached prefix of a key's last request,
// under a slot's number, is saved to a file under a name, restored from there, or erased. The engine hands out or
// accepts a slice of the bytes between two steps; the file is read and written on workers.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/caught.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/prefix_file.h"
#include "engine/prefixes.h"
#include "server/call/context.h"
#include "server/call/request_fields.h"
#include "server/call/slots.h"
#include "server/models/prefix_folders.h"
#include "server/routes/routes.h"

namespace realizar::server {
namespace {

constexpr size_t kSliceBytes = size_t{16} << 20;

// The state of a transfer, shared by the engine's thread, the call and its workers. Only one of them uses it at a time.
struct Transfer {
  engine::PrefixShape shape;
  engine::PrefixCounts counts;
  std::optional<engine::HeldPrefix> held;
  std::unique_ptr<engine::NewPrefix> added;
  // The pieces from `begin` to `end`, and for restored blocks their groups and the meaning of shorter names.
  uint64_t begin = 0, end = 0;
  std::vector<std::byte> slice;
  std::vector<std::pair<uint32_t, uint32_t>> groups;

  bool is_done() const { return end == counts.n_pieces(); }
  size_t bytes_of(uint64_t piece) const { return piece < counts.n_blocks ? shape.block_bytes : shape.state_bytes; }
  // Advances to the pieces after the last one: at least one, if any is left.
  void next_slice() {
    size_t n_bytes = 0;
    for (begin = end; end < counts.n_pieces(); ++end) {
      const size_t next = bytes_of(end);
      if (end > begin && n_bytes + next > kSliceBytes) break;
      n_bytes += next;
    }
    slice.resize(n_bytes);
    groups.resize(end - begin);
  }
  // Calls visit(piece, bytes) for each piece of the slice, until one returns an error.
  template <class Visit>
  Status for_each_piece(const Visit& visit) {
    size_t at = 0;
    for (uint64_t piece = begin; piece < end; ++piece) {
      RZ_CHECK_OK(visit(piece, std::span(slice).subspan(at, bytes_of(piece))));
      at += bytes_of(piece);
    }
    return {};
  }
};
using TransferPtr = std::shared_ptr<Transfer>;

// Releases on the engine's thread what a transfer holds of the cache, wherever its call ends.
auto ended_with(Call& call, ServedModelPtr model, TransferPtr transfer) {
  return AtEnd([&slots = *call.context.slots, model = std::move(model), transfer = std::move(transfer)] {
    slots.end_transfer(model->id);
    model->thread->visit([transfer](engine::Engine&) {
      transfer->held.reset();
      transfer->added.reset();
    });
  });
}

struct SlotWish {
  SlotOwner owner;
  uint32_t id = 0;
  std::string filename;
  std::string path;
};

// Calls `visit` on the engine's thread, and returns its result or exception.
template <class Visit>
Task<Status> on_engine(Call& call, const ServedModel& model, Visit visit) {
  const auto status = std::make_shared<Status>();
  Lent visiting(call, [&](const std::function<void()>& give_back) {
    model.thread->visit([visit, status, give_back](engine::Engine& engine) {
      *status = caught([&] { return visit(engine); });
      give_back();
    });
  });
  co_await visiting;
  co_return *status;
}

Status read_slice(Transfer& transfer) {
  transfer.next_slice();
  return transfer.for_each_piece([&](uint64_t piece, std::span<std::byte> bytes) -> Status {
    transfer.held->read(piece, bytes);
    return Status();
  });
}

Status write_slice(Transfer& transfer, engine::PrefixFileWriter& file) {
  return transfer.for_each_piece([&](uint64_t piece, std::span<const std::byte> bytes) {
    return file.write(transfer.held->name_of(piece), bytes);
  });
}

Status read_slice(engine::PrefixFileReader& file, Transfer& transfer) {
  transfer.next_slice();
  return transfer.for_each_piece([&](uint64_t piece, std::span<std::byte> bytes) -> Status {
    RZ_CHECK_OK(file.read());
    std::ranges::copy(file.bytes(), bytes.begin());
    transfer.groups[piece - transfer.begin] = {file.name().group, file.name().n_short_tokens};
    return {};
  });
}

Status add_slice(Transfer& transfer) {
  return transfer.for_each_piece([&](uint64_t piece, std::span<const std::byte> bytes) -> Status {
    const auto& [group, n_short_tokens] = transfer.groups[piece - transfer.begin];
    const bool is_added = piece < transfer.counts.n_blocks ? transfer.added->add_block(group, n_short_tokens, bytes)
                                                           : transfer.added->add_state(bytes);
    if (is_added) return {};
    return Error{ErrorCode::kResourceExhausted, "the cache has no room for the slot while other requests use it", ""};
  });
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

Error empty_slot(const SlotWish& wish) {
  return invalid_argument(
      fmt::format("slot {} is empty: no request has left anything there that is still cached", wish.id), "id_slot");
}

Task<Result<Json>> save_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const auto start = Clock::now();
  const auto transfer = std::make_shared<Transfer>();
  const auto at_end = ended_with(call, model, transfer);
  const Slot* slot = call.context.slots->find(wish.owner, wish.id);
  if (slot == nullptr) co_return empty_slot(wish);
  transfer->shape = model->loaded->engine->prefixes().shape(model->loaded->source_hash().value_or(0));
  Task<Status> holding = on_engine(call, *model, [transfer, text = *slot](engine::Engine& engine) {
    transfer->held.emplace(engine.prefixes().hold(text.tokens, text.cache_salt));
  });
  RZ_CO_CHECK_OK(co_await holding);
  const std::span<const TokenId> tokens = transfer->held->tokens();
  if (tokens.empty()) co_return empty_slot(wish);
  transfer->counts = transfer->held->counts();
  const uint64_t n_bytes = engine::PrefixFileWriter::n_bytes(transfer->shape, transfer->counts, tokens.size());
  OnWorker creating(call, kSliceBytes, [&]() -> Result<std::unique_ptr<engine::PrefixFileWriter>> {
    RZ_CHECK_OK(call.context.slot_folder->make_room(wish.path, n_bytes));
    RZ_TRY(engine::PrefixFileWriter made,
           engine::PrefixFileWriter::create(wish.path, transfer->shape, transfer->counts, {}, tokens));
    return std::make_unique<engine::PrefixFileWriter>(std::move(made));
  });
  RZ_CO_TRY(const std::unique_ptr<engine::PrefixFileWriter> file, co_await creating);
  while (!transfer->is_done()) {
    Task<Status> reading = on_engine(call, *model, [transfer](engine::Engine&) { return read_slice(*transfer); });
    RZ_CO_CHECK_OK(co_await reading);
    OnWorker writing(call, kSliceBytes, [&] { return write_slice(*transfer, *file); });
    RZ_CO_CHECK_OK(co_await writing);
  }
  OnWorker committing(call, kSliceBytes, [&] { return file->commit(); });
  RZ_CO_CHECK_OK(co_await committing);
  co_return slot_answer(wish, "n_saved", tokens.size(), "n_written", n_bytes, "save_ms", start);
}

Result<engine::PrefixFileReader> open_slot(const std::string& path, const engine::PrefixShape& shape) {
  RZ_TRY(engine::PrefixFileReader file, engine::PrefixFileReader::open(path, shape));
  RZ_CHECK_OK(file.check_is_of_text());
  return file;
}

Task<Result<Json>> restore_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const auto start = Clock::now();
  const auto transfer = std::make_shared<Transfer>();
  const auto at_end = ended_with(call, model, transfer);
  transfer->shape = model->loaded->engine->prefixes().shape(model->loaded->source_hash().value_or(0));
  OnWorker opening(call, kSliceBytes, [&] { return open_slot(wish.path, transfer->shape); });
  RZ_CO_TRY(engine::PrefixFileReader file, co_await opening);
  transfer->counts = file.counts();
  const uint64_t salt = cache_salt_of(call.key, *model), owner = call.tenant;
  Task<Status> beginning = on_engine(call, *model, [transfer, tokens = file.text()](engine::Engine& engine) {
    transfer->added = engine.prefixes().begin(tokens);
  });
  RZ_CO_CHECK_OK(co_await beginning);
  while (!transfer->is_done()) {
    OnWorker reading(call, kSliceBytes, [&] { return read_slice(file, *transfer); });
    RZ_CO_CHECK_OK(co_await reading);
    Task<Status> adding = on_engine(call, *model, [transfer](engine::Engine&) { return add_slice(*transfer); });
    RZ_CO_CHECK_OK(co_await adding);
  }
  Task<Status> naming = on_engine(call, *model, [transfer, salt, owner](engine::Engine& engine) {
    engine.prefixes().name(*transfer->added, salt, owner);
  });
  RZ_CO_CHECK_OK(co_await naming);
  call.context.slots->put(wish.owner, wish.id, {file.text(), salt});
  co_return slot_answer(wish, "n_restored", file.text().size(), "n_read", file.n_bytes(), "restore_ms", start);
}

Task<Result<Json>> erase_slot(Call& call, ServedModelPtr model, SlotWish wish) {
  const Slot* slot = call.context.slots->find(wish.owner, wish.id);
  const auto n_erased = std::make_shared<uint32_t>(0);
  if (slot != nullptr) {
    Task<Status> forgetting = on_engine(call, *model, [n_erased, text = *slot](engine::Engine& engine) {
      *n_erased = engine.prefixes().forget_one(text.tokens, text.cache_salt);
    });
    RZ_CO_CHECK_OK(co_await forgetting);
    call.context.slots->erase(wish.owner, wish.id);
  }
  co_return Json{{"id_slot", wish.id}, {"n_erased", *n_erased}};
}

Result<uint32_t> slot_id_of(const Call& call, const ServedModel& model) {
  const uint32_t n_slots = model.loaded->engine->max_seqs();
  const auto id = number_of<uint32_t>(call.path_id);
  if (id && *id < n_slots) return *id;
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

// A full folder is no reason to try again soon. The system's message, with the server's paths, is only logged.
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
  constexpr const char* kUnusable = "the slot's file cannot be used; the server's log has the reason";
  return is_files ? bad_request(kUnusable, "filename") : ApiError{500, kUnusable, "", "internal_error"};
}

}  // namespace

Task<Status> post_slot(Call& call) {
  if (call.context.slot_folder == nullptr) {
    co_return call.refuse(
        {501, "this server keeps no slots: start it with --slot-save-path FOLDER", "", "not_supported"});
  }
  const SlotAction action = action_of(query_value(call.request.query, "action"));
  if (action == nullptr) co_return invalid_argument("action: expected save, restore or erase", "action");
  RZ_CO_TRY(const Json body, co_await json_object(call, true));
  if (call.is_over()) co_return Status();
  std::string name = query_value(call.request.query, "model");
  if (name.empty()) name = body.value("model", Json("")).is_string() ? body.value("model", "") : "";
  ModelWait wait(call, std::move(name));
  RZ_CO_TRY(const ServedModelPtr model, co_await wait);
  Fields fields(body);
  RZ_CO_TRY(SlotWish wish, read_wish(call, fields, *model, action != erase_slot));
  if (action != erase_slot && !call.context.slots->begin_transfer(model->id)) {
    co_return call.refuse({503, "another slot of this model is being saved or restored", "", "busy"});
  }
  const std::string path = wish.path;
  Task<Result<Json>> acting = action(call, model, std::move(wish));
  const Result<Json> answer = co_await acting;
  if (!answer.ok()) co_return call.refuse(to_slot_error(answer.error(), path));
  co_return call.finish(json_response(*answer));
}

}  // namespace realizar::server
