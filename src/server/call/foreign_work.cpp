#include "server/call/foreign_work.h"

#include <utility>

#include "server/call/context.h"

namespace realizar::server {

ForeignWork::ForeignWork(Call& call, Work work, SharedSlots& slots) : state_(std::make_shared<State>()) {
  state_->call = &call;
  const auto give_way = [state = state_, &http = call.context.http] {
    state->cancelled = true;
    http.post([state] {
      end(*state, Error{ErrorCode::kResourceExhausted, "the call gave way to another client's", kForeignSlots});
    });
  };
  std::shared_ptr<SharedSlots::Slot> slot = slots.take(call.tenant, give_way);
  if (slot == nullptr) {
    state_->result.emplace(
        Error{ErrorCode::kResourceExhausted, "too many questions to other servers are under way", kForeignSlots});
    return;
  }
  thread_ = std::make_unique<TaskThread>([state = state_, work = std::move(work), slot = std::move(slot),
                                          &http = call.context.http](TaskThread::Listener& listener) mutable {
    const auto result = std::make_shared<Result<Json>>(caught([&] { return work(state->cancelled); }));
    slot.reset();
    static_cast<void>(
        caught([&] { listener.tell([&] { http.post([state, result] { end(*state, std::move(*result)); }); }); }));
  });
}

// On the I/O thread. Whichever end comes first is the one.
void ForeignWork::end(State& state, Result<Json> result) {
  if (state.result) return;
  state.result.emplace(std::move(result));
  if (state.call != nullptr) state.call->signal_update();
}

ForeignWork::~ForeignWork() {
  state_->call = nullptr;
  state_->cancelled = true;
  if (thread_ != nullptr) thread_->end_until(Clock::now());
}

Task<Status> answer_by(Call& call, ForeignWork::Work work, SharedSlots& slots, ApiError (*spell)(const Error&)) {
  ForeignWork asking(call, std::move(work), slots);
  while (!asking.is_done()) {
    UpdateWait update(call);
    RZ_CO_CHECK_OK(co_await update);
  }
  const Result<Json> result = asking.take();
  if (!result.ok()) co_return call.refuse(spell(result.error()));
  co_return call.finish({200, "application/json", dump(*result), {{"Cache-Control", "no-store"}}});
}

}  // namespace realizar::server
