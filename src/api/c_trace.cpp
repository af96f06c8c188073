// The C interface: the recordings of traced steps.
#include "api/c_support.h"

using namespace realizar;
using namespace realizar::c;

namespace {

rz_trace_phase to_c(const TracePhase& phase) {
  return {phase.n_steps, phase.n_tokens, phase.total_ms, phase.n_computed};
}

}  // namespace

int rz_set_trace(rz_model* model, int on) {
  return static_cast<int>(exclusively(model, [&] { model->model.set_trace(on != 0); }));
}

int64_t rz_trace(const rz_model* model, void (*on_row)(const rz_trace_row* row, void* user), void* user) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (on_row == nullptr) return null_argument("on_row");
    const std::vector<TraceRow> rows = model->model.trace().rows;
    for (const TraceRow& row : rows) {
      const rz_trace_row to{row.op.c_str(), row.decode ? 1 : 0, row.count, row.total_ms, row.bytes, row.flops};
      on_row(&to, user);
    }
    return static_cast<int64_t>(rows.size());
  });
}

int rz_get_trace_totals(const rz_model* model, rz_trace_totals* totals) {
  return static_cast<int>(counted_with(model, "model", [&]() -> Status {
    if (totals == nullptr) return null_argument("totals");
    const Trace trace = model->model.trace();
    const rz_trace_totals filled{sizeof filled, to_c(trace.prefill), to_c(trace.decode), to_c(trace.total())};
    return write_struct(filled, totals);
  }));
}

int64_t rz_trace_events(const rz_model* model, void (*on_event)(const rz_trace_event* event, void* user), void* user) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (on_event == nullptr) return null_argument("on_event");
    const std::vector<TraceEvent> events = model->model.trace_events();
    for (const TraceEvent& event : events) {
      const rz_trace_event to{event.name.c_str(), event.decode ? 1 : 0, event.layer,   event.start_us,
                              event.duration_us,  event.step,           event.n_tokens};
      on_event(&to, user);
    }
    return static_cast<int64_t>(events.size());
  });
}

int64_t rz_trace_note(const rz_model* model, char* note, size_t capacity) {
  return counted_with(model, "model",
                      [&]() -> Result<int64_t> { return copy_text(model->model.trace_note(), note, capacity); });
}

int rz_clear_trace(rz_model* model) {
  return static_cast<int>(counted_with(model, "model", [&] { model->model.clear_trace(); }));
}
