// The C interface: downloads, models, their text and the recordings of traced steps. Functions that compute are in
// c_generate.cpp.
#include "api/c_support.h"
#include "base/try.h"
#include "realizar/models.h"
#include "realizar/reasoning.h"

#include <span>

using namespace realizar;
using namespace realizar::c;

namespace {

rz_model_info to_c(const ModelInfo& info) {
  rz_model_info to{};
  to.path = info.path.c_str();
  to.name = info.name.c_str();
  to.arch = info.arch.c_str();
  to.backend = info.backend.c_str();
  to.gpu_refusal = info.gpu_refusal.c_str();
  to.check = info.check.c_str();
  to.n_layers = info.n_layers;
  to.d_model = info.d_model;
  to.n_heads = info.n_heads;
  to.n_kv_heads = info.n_kv_heads;
  to.head_dim = info.head_dim;
  to.d_ff = info.d_ff;
  to.n_vocab = info.n_vocab;
  to.n_ctx = info.n_ctx;
  to.n_ctx_train = info.n_ctx_train;
  to.n_params = info.n_params;
  to.file_bytes = info.file_bytes;
  to.weight_bytes = info.weight_bytes;
  to.kv_bytes = info.kv_bytes;
  to.has_chat_template = info.has_chat_template ? 1 : 0;
  to.scratch_bytes = info.scratch_bytes;
  to.norm_eps = info.norm_eps;
  to.tie_word_embeddings = info.tie_word_embeddings ? 1 : 0;
  to.rope_base = info.rope_base;
  to.n_rope_dims = info.n_rope_dims;
  to.rope_scale = info.rope_scale;
  to.quantization = info.quantization.c_str();
  return to;
}

PullOptions to_options(const rz_pull_options& given) {
  const auto text = [](const char* from) { return from == nullptr ? std::string() : std::string(from); };
  PullOptions options;
  options.models_store = text(given.models_store);
  options.file = text(given.file);
  options.only_if_missing = given.only_if_missing != 0;
  options.mirror = text(given.mirror);
  options.token = text(given.token);
  options.ca_file = text(given.ca_file);
  if (given.on_progress != nullptr) {
    options.progress = [on_progress = given.on_progress, user = given.on_progress_user](
                           const std::string& file, uint64_t done_bytes, uint64_t total_bytes) {
      return on_progress(file.c_str(), done_bytes, total_bytes, user) != 0;
    };
  }
  return options;
}

rz_trace_phase to_c(const TracePhase& phase) {
  return {phase.n_steps, phase.n_tokens, phase.total_ms, phase.n_computed};
}

}  // namespace

const char* rz_version(void) {
  return version();
}

int64_t rz_pull(const char* name, const rz_pull_options* options, char* full_name, size_t capacity) {
  return counted([&]() -> Result<int64_t> {
    if (name == nullptr) return null_argument("name");
    RZ_TRY(const rz_pull_options given, read_struct(options));
    RZ_TRY(const std::string pulled, pull_model(name, to_options(given)));
    return copy_text(pulled, full_name, capacity);
  });
}

rz_model* rz_load(const char* name, const rz_load_options* options) {
  return made<rz_model>([&]() -> Result<rz_model*> {
    if (name == nullptr) return null_argument("model");
    RZ_TRY(const rz_load_options given, read_struct(options));
    RZ_TRY(const LoadOptions load, to_load_options(given));
    RZ_TRY(LanguageModel model, LanguageModel::load(name, load));
    return new rz_model{std::move(model)};
  });
}

void rz_free(rz_model* model) {
  if (model != nullptr && model->is_busy) {
    fail(busy_error());
    return;
  }
  delete model;
}

int rz_get_info(const rz_model* model, rz_model_info* info) {
  return static_cast<int>(counted_with(model, "model", [&]() -> Status {
    if (info == nullptr) return null_argument("info");
    return write_struct(to_c(model->model.info()), info);
  }));
}

int64_t rz_devices(const rz_model* model, void (*on_device)(const rz_device* device, void* user), void* user) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (on_device == nullptr) return null_argument("on_device");
    const std::vector<DeviceInfo>& devices = model->model.info().devices;
    for (const DeviceInfo& device : devices) {
      const rz_device to{device.name.c_str(),  device.weight_bytes, device.kv_bytes,
                         device.scratch_bytes, device.total_bytes,  device.free_bytes};
      on_device(&to, user);
    }
    return static_cast<int64_t>(devices.size());
  });
}

int64_t rz_n_vocab(const rz_model* model) {
  return counted_with(model, "model", [&]() -> Result<int64_t> { return int64_t{model->model.info().n_vocab}; });
}

int64_t rz_n_ctx(const rz_model* model) {
  return counted_with(model, "model", [&]() -> Result<int64_t> { return int64_t{model->model.info().n_ctx}; });
}

int64_t rz_tokenize(const rz_model* model, const char* text, int add_special, int parse_special, int32_t* ids,
                    size_t capacity) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (text == nullptr) return null_argument("text");
    RZ_TRY(const std::vector<TokenId> tokens, model->model.tokenize(text, add_special != 0, parse_special != 0));
    return copy_ids(tokens, ids, capacity);
  });
}

int64_t rz_detokenize(const rz_model* model, const int32_t* ids, size_t n_ids, char* text, size_t capacity) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (ids == nullptr && n_ids > 0) return null_argument("ids");
    RZ_TRY(const std::string result, model->model.detokenize(to_tokens(ids, n_ids)));
    return copy_text(result, text, capacity);
  });
}

int64_t rz_chat_prompt(const rz_model* model, const rz_message* messages, size_t n_messages, int32_t* ids,
                       size_t capacity) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (messages == nullptr && n_messages > 0) return null_argument("messages");
    std::vector<ChatMessage> list;
    for (const rz_message& message : std::span(messages, n_messages)) {
      if (message.role == nullptr) return null_argument("role");
      if (message.content == nullptr) return null_argument("content");
      list.push_back({message.role, message.content});
    }
    RZ_TRY(const std::vector<TokenId> tokens, model->model.chat_prompt(list));
    return copy_ids(tokens, ids, capacity);
  });
}

int64_t rz_apply_chat_template(const rz_model* model, const char* variables_json, int32_t* ids, size_t capacity) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (variables_json == nullptr) return null_argument("variables_json");
    RZ_TRY(const std::vector<TokenId> tokens, model->model.apply_chat_template(variables_json));
    return copy_ids(tokens, ids, capacity);
  });
}

int64_t rz_plan_reasoning(const rz_model* model, const rz_reasoning* asked, char* variables_json, size_t capacity,
                          int64_t* budget) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (asked == nullptr) return null_argument("asked");
    RZ_TRY(const rz_reasoning given, read_struct(asked));
    ReasoningOptions options;
    if (given.enabled != 0) options.enabled = given.enabled > 0;
    if (given.effort != nullptr) options.effort = given.effort;
    if (given.budget > 0) options.budget = given.budget;
    RZ_TRY(const ReasoningPlan plan, plan_reasoning(model->model, options));
    if (budget != nullptr) *budget = plan.budget ? int64_t{*plan.budget} : -1;
    return copy_text(plan.variables_json, variables_json, capacity);
  });
}

int64_t rz_rank_prompt(const rz_model* model, const char* query, const char* document, int32_t* ids, size_t capacity) {
  return counted_with(model, "model", [&]() -> Result<int64_t> {
    if (query == nullptr || document == nullptr) return null_argument(query == nullptr ? "query" : "document");
    RZ_TRY(const std::vector<TokenId> tokens, model->model.rank_prompt(query, document));
    return copy_ids(tokens, ids, capacity);
  });
}

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
