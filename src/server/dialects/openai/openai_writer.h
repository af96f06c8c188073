// The common parts of OpenAI's chat and text responses: the beginning of every answer, and the chunks of streams.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "server/call/request_fields.h"
#include "server/call/response_writer.h"
#include "server/call/timings.h"

namespace realizar::server {

class OpenAiWriter : public ResponseWriter {
 public:
  std::string stream_end(const Usage& usage, const Json* trace) override {
    if (!include_usage_ && trace == nullptr) return {};
    Json last = head(true);
    last["choices"] = Json::array();
    if (include_usage_) last["usage"] = usage_json(usage);
    if (trace != nullptr) last["trace"] = *trace;
    return sse(last);
  }

 protected:
  OpenAiWriter(const char* id_prefix, std::string model, bool include_usage, const AnswerExtras& extras)
      : id_(random_id(id_prefix)), model_(std::move(model)), include_usage_(include_usage), extras_(extras) {}

  virtual Json head(bool is_chunk) const {
    return {{"id", id_},
            {"object", is_chunk ? "chat.completion.chunk" : "chat.completion"},
            {"created", created_},
            {"model", model_}};
  }
  virtual Json usage_json(const Usage& usage) const {
    return {{"prompt_tokens", usage.n_prompt},
            {"completion_tokens", usage.n_completion},
            {"total_tokens", usage.n_prompt + usage.n_completion}};
  }

  // A chunk with an update of one choice. `timings`: of the answer so far, if requested; null: never.
  Json chunk_json(Json choice, const Timings* timings = nullptr) const {
    Json json = head(true);
    json["choices"] = Json::array({std::move(choice)});
    if (include_usage_) json["usage"] = nullptr;
    if (timings != nullptr && extras_.timings) json["timings"] = timings_json(*timings);
    return json;
  }

  // Chunks that report the progress of the choice's prompt of n_prompt tokens. `choice`: without new text.
  std::string progress_chunks(const ChoiceUpdate& update, const Json& choice, size_t n_prompt) const {
    std::string bytes;
    for (const auto& progress : update.progress) {
      const Timings timings = timings_of(progress);
      Json json = chunk_json(choice, &timings);
      json["prompt_progress"] = progress_json(progress, n_prompt);
      bytes += sse(json);
    }
    return bytes;
  }

  const std::string id_, model_;
  const int64_t created_ = unix_now_s();
  const bool include_usage_;
  const AnswerExtras extras_;
};

}  // namespace realizar::server
