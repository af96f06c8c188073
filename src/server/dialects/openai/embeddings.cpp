// POST /v1/embeddings (https://platform.openai.com/docs/api-reference/embeddings): hidden states of the last layer,
// pooled and normalized. POST /embedding returns the same in llama.cpp's format, and with --pooling none the states of
// all tokens, as /embeddings does then.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/try.h"
#include "server/call/chat_prompt.h"
#include "server/call/pooled_plan.h"
#include "server/call/protocol.h"
#include "server/call/request_fields.h"

namespace realizar::server {
namespace {

static_assert(std::endian::native == std::endian::little, "base64 vectors are little-endian floats");

WholeWriter::Whole embeddings_writer(const std::string& model, bool as_base64, uint32_t n_values) {
  return [=](const Choices& choices, const Usage& usage, JsonPieces& pieces) -> Json {
    Json data = pieces.list(choices.size(), [=, &choices, &pieces](size_t i) -> Json {
      auto values = shortened(choices[i]->end().embedding, n_values);
      const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
      Json embedding = as_base64 ? Json(encode_base64(bytes)) : vector_json(std::move(values), pieces);
      return {{"object", "embedding"}, {"index", i}, {"embedding", std::move(embedding)}};
    });
    return {{"id", random_id("embd-")},
            {"object", "list"},
            {"data", std::move(data)},
            {"model", model},
            {"usage", {{"prompt_tokens", usage.n_prompt}, {"total_tokens", usage.n_prompt}}}};
  };
}

// llama.cpp's format: an array of vectors for each text.
WholeWriter::Whole states_writer(uint32_t d_model) {
  return [=](const Choices& choices, const Usage&, JsonPieces& pieces) {
    return pieces.list(choices.size(), [=, &choices, &pieces](size_t i) -> Json {
      const std::vector<float>& numbers = choices[i]->end().embedding;
      const auto vector_at = [=, &numbers, &pieces](size_t k) {
        const auto begin = numbers.begin() + static_cast<ptrdiff_t>(k * d_model);
        return vector_json({begin, begin + static_cast<ptrdiff_t>(d_model)}, pieces);
      };
      return {{"index", i}, {"embedding", pieces.list(numbers.size() / d_model, vector_at)}};
    });
  };
}

Error wrong_input() {
  return invalid_argument("input: expected a string, an array of strings, of token ids, or of arrays of token ids",
                          "input");
}

// A text, or ids mixed with texts, as llama.cpp accepts them. `most`: maximum tokens of a text; nullopt: too long a
// text is refused.
Result<std::vector<TokenId>> read_tokens(const Json& input, std::optional<size_t> most, const ServedModel& model) {
  if (input.is_string()) {
    const auto& text = input.get_ref<const std::string&>();
    if (most) return first_tokens(text, *most, model);
    RZ_CHECK_OK(check_text_length({text}, "input", model));
    return model.tokenizer().encode(text, {.add_special = true, .parse_special = false});
  }
  if (!input.is_array()) return wrong_input();
  std::vector<TokenId> tokens;
  for (const Json& part : input) {
    const auto token = token_id_of(part);
    if (!token && !part.is_string()) return wrong_input();
    if (token) tokens.push_back(TokenId{*token});
    if (!token) {
      const auto& text = part.get_ref<const std::string&>();
      RZ_CHECK_OK(check_text_length({text}, "input", model));
      const auto added = model.tokenizer().encode(text, {.add_special = false, .parse_special = false});
      tokens.insert(tokens.end(), added.begin(), added.end());
    }
  }
  return tokens;
}

Result<std::vector<TokenId>> read_input(const Json& input, std::optional<size_t> most, const ServedModel& model) {
  RZ_TRY(auto tokens, read_tokens(input, most, model));
  if (most && tokens.size() > *most) tokens.resize(*most);
  if (tokens.empty()) return invalid_argument("input: expected text, actual nothing", "input");
  return tokens;
}

// vLLM's truncate_prompt_tokens, where -1 means the model's maximum, and Text Embeddings Inference's truncate.
std::optional<size_t> most_tokens(Fields& body, const ServedModel& model) {
  const int64_t n_ctx = model.loaded->info.n_ctx;
  const auto n_tokens = body.integer("truncate_prompt_tokens", -1, INT32_MAX);
  const bool truncates = body.boolean("truncate").value_or(false);
  if (n_tokens == 0) body.fail("truncate_prompt_tokens", "expected -1 or at least 1");
  if (!n_tokens && !truncates) return std::nullopt;
  return static_cast<size_t>(n_tokens.value_or(-1) < 0 ? n_ctx : std::min(*n_tokens, n_ctx));
}

Result<CompletionPlan> plan_inputs(Fields& body, Pooling pooling, const ServedModel& model,
                                   const RequestContext& context) {
  const std::optional<size_t> most = most_tokens(body, model);
  if (!body.status().ok()) return body.status().error();
  const Json* given = body.any("input") != nullptr ? body.any("input") : body.any("content");
  if (given == nullptr) return wrong_input();
  const Json& input = *given;
  const auto is_number = [](const Json& part) { return part.is_number(); };
  const bool is_ids = input.is_array() && std::any_of(input.begin(), input.end(), is_number);
  const bool is_one = input.is_string() || is_ids;
  if (!is_one && (!input.is_array() || input.empty() || input.size() > 2048)) return wrong_input();
  return pooled_plan(is_one ? 1 : input.size(), "input", !is_one, pooling, model, context,
                     [&](size_t i) { return read_input(is_one ? input : input[i], most, model); });
}

Result<Prepared> read_embeddings(Fields& body, const ServedModelPtr& model, const RequestContext& context) {
  const Pooling own = model->loaded->pooling();
  const Pooling pooling = own == Pooling::kRank ? own : model->defaults->pooling.value_or(own);
  const bool is_openai = context.path.find("/v1/") != std::string::npos;
  if (pooling == Pooling::kAll && is_openai) {
    return invalid_argument("with --pooling none there is a vector for each token, which POST /embeddings returns");
  }
  if (pooling == Pooling::kRank) {
    return invalid_argument("model: " + model->id + " is a reranker, which cannot make vectors: use /v1/rerank",
                            "model");
  }
  const std::string format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") body.fail("encoding_format", "expected float or base64");
  const uint32_t d_model = model->loaded->info.d_model;
  const auto n_values = body.integer("dimensions", 1, d_model);
  if (!body.status().ok()) return body.status().error();
  RZ_TRY(CompletionPlan plan, plan_inputs(body, pooling, *model, context));
  if (pooling == Pooling::kAll || context.path == "/embedding") {
    plan.writer = std::make_unique<WholeWriter>(states_writer(d_model));
    return prepared(std::move(plan));
  }
  plan.writer = std::make_unique<WholeWriter>(embeddings_writer(told_name(context, *model), format == "base64",
                                                                static_cast<uint32_t>(n_values.value_or(d_model))));
  return prepared(std::move(plan));
}

constexpr const char* kEmbeddingFields[] = {
    "model", "input", "content", "encoding_format", "dimensions", "truncate_prompt_tokens", "truncate"};

}  // namespace

const Protocol kEmbeddings{.read = read_embeddings, .fields = fields_of<kEmbeddingFields>, .tells_limits = true};

}  // namespace realizar::server
