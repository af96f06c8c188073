#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "realizar/realizar.h"

namespace {

constexpr const char* kModel = RZ_SOURCE_DIR "/models/realizar-tiny/realizar-tiny-Q8_0.gguf";
constexpr const char* kChat = R"({"messages": [{"role": "user", "content": "What is the capital of France?"}]})";

int append(const char* text, size_t n_bytes, void* user) {
  static_cast<std::string*>(user)->append(text, n_bytes);
  return 1;
}

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    model_ = rz_load(kModel, nullptr);
    ASSERT_NE(model_, nullptr) << rz_last_error();
    ids_.resize(static_cast<size_t>(rz_apply_chat_template(model_, kChat, nullptr, 0)));
    rz_apply_chat_template(model_, kChat, ids_.data(), ids_.size());
  }
  void TearDown() override { rz_free(model_); }

  rz_generate_options greedy() const {
    rz_generate_options options;
    options.struct_size = sizeof options;
    EXPECT_EQ(rz_default_generate_options(model_, &options), 0);
    options.temperature = 0;
    return options;
  }
  // The number of tokens of the chat's answer.
  int64_t generate(const rz_generate_options& options, int (*on_text)(const char*, size_t, void*) = nullptr,
                   void* user = nullptr) const {
    return rz_generate(model_, ids_.data(), ids_.size(), &options, on_text, user);
  }

  rz_model* model_ = nullptr;
  std::vector<int32_t> ids_;  // the chat
};

TEST_F(CApi, AnswersAPrompt) {
  std::string text;
  const auto options = greedy();
  EXPECT_EQ(generate(options, append, &text), 9);
  EXPECT_EQ(text, "The capital of France is Paris.");
}

TEST_F(CApi, AConversationIsThePromptThatItsJsonGives) {
  const rz_message messages[] = {{"system", "Be brief.\t"}, {"user", "\"two\"\nlines \\ <|im_end|> \x01"}};
  std::vector<int32_t> ids(1024), expected(1024);
  const int64_t n = rz_chat_prompt(model_, messages, 2, ids.data(), ids.size());
  const char* json =
      R"({"messages": [{"role": "system", "content": "Be brief.\t"},
                       {"role": "user", "content": "\"two\"\nlines \\ <|im_end|> \u0001"}]})";
  ASSERT_GT(n, 0) << rz_last_error();
  EXPECT_EQ(rz_apply_chat_template(model_, json, expected.data(), expected.size()), n);
  EXPECT_EQ(ids, expected);
}

TEST_F(CApi, BytesThatAreNoUtf8AreReplaced) {
  const rz_message wrong{"user", "caf\xe9"}, right{"user", "caf\xef\xbf\xbd"};
  std::vector<int32_t> ids(256), expected(256);
  ASSERT_GT(rz_chat_prompt(model_, &wrong, 1, ids.data(), ids.size()), 0) << rz_last_error();
  rz_chat_prompt(model_, &right, 1, expected.data(), expected.size());
  EXPECT_EQ(ids, expected);
}

TEST_F(CApi, StopStringsAndLimitsHold) {
  auto options = greedy();
  const char* stop[] = {" is"};
  options.stop = stop;
  options.n_stop = 1;
  std::string text;
  EXPECT_GT(generate(options, append, &text), 0);
  EXPECT_EQ(text, "The capital of France");
  options.n_stop = 0;
  options.max_tokens = 2;
  EXPECT_EQ(generate(options), 2);
}

TEST_F(CApi, NoTokensAreAskedForByAFieldThatSaysSo) {
  auto options = greedy();
  rz_result result{};
  result.struct_size = sizeof result;
  options.result = &result;
  options.has_max_tokens = 1;
  EXPECT_EQ(generate(options), 0) << rz_last_error();
  EXPECT_EQ(result.finish_reason, RZ_FINISH_LENGTH);
  options.struct_size = offsetof(rz_generate_options, has_max_tokens);
  EXPECT_EQ(generate(options), 9) << "as it was before";
}

TEST_F(CApi, APromptOfTheWholeContextGivesOneToken) {
  auto options = greedy();
  options.ignore_eos = 1;
  rz_result result{};
  result.struct_size = sizeof result;
  options.result = &result;
  const std::vector<int32_t> ids(1024, 5);
  EXPECT_EQ(rz_generate(model_, ids.data(), ids.size(), &options, nullptr, nullptr), 1) << rz_last_error();
  EXPECT_EQ(result.finish_reason, RZ_FINISH_CONTEXT);
}

TEST_F(CApi, TokensGoThereAndBackInBuffersOfAnySize) {
  const int64_t n = rz_tokenize(model_, "Hello world", 0, 0, nullptr, 0);
  ASSERT_GT(n, 1);
  std::vector<int32_t> ids(static_cast<size_t>(n), -7);
  EXPECT_EQ(rz_tokenize(model_, "Hello world", 0, 0, ids.data(), 1), n);
  EXPECT_EQ(ids[1], -7);
  rz_tokenize(model_, "Hello world", 0, 0, ids.data(), ids.size());
  char text[32];
  ASSERT_EQ(rz_detokenize(model_, ids.data(), ids.size(), text, sizeof text), 11);
  EXPECT_EQ(std::string(text, 11), "Hello world");
}

TEST_F(CApi, CancelFromAnotherThreadEndsAGeneration) {
  auto options = greedy();
  struct Cancelling {
    rz_model* model;
    int n_pieces;
  } state{model_, 0};
  const auto cancel_on_first = [](const char*, size_t, void* user) {
    auto* s = static_cast<Cancelling*>(user);
    if (s->n_pieces++ == 0) std::thread([s] { rz_cancel(s->model); }).join();
    return 1;
  };
  EXPECT_LT(generate(options, cancel_on_first, &state), 9);
  EXPECT_EQ(state.n_pieces, 1);
}

TEST_F(CApi, AGenerationTellsItsTokensAndHowItEnded) {
  struct Seen {
    std::string text;
    std::vector<int32_t> ids;
    double ms = 0;
  } seen;
  const auto on_token = [](const rz_token* token, void* user) {
    auto* s = static_cast<Seen*>(user);
    EXPECT_EQ(token->index, s->ids.size());
    EXPECT_EQ(token->n_top, 2u);
    EXPECT_EQ(token->top[0].id, token->id) << "the likeliest is chosen";
    EXPECT_EQ(token->top[0].logprob, token->logprob);
    EXPECT_GE(token->top[0].logprob, token->top[1].logprob);
    s->ids.push_back(token->id);
    s->text.append(token->text, token->n_text_bytes);
    s->ms += token->ms;
    return 1;
  };
  auto options = greedy();
  rz_result result{};
  result.struct_size = sizeof result;
  options.on_token = on_token;
  options.on_token_user = &seen;
  options.n_logprobs = 2;
  options.result = &result;
  EXPECT_EQ(generate(options), 9) << rz_last_error();
  EXPECT_EQ(seen.text, "The capital of France is Paris.");
  EXPECT_EQ(seen.ids.size(), 9u);
  EXPECT_EQ(result.finish_reason, RZ_FINISH_STOP);
  EXPECT_EQ(result.n_prompt, ids_.size());
  EXPECT_EQ(result.n_generated, 9u);
  EXPECT_GE(result.first_token_ms + result.decode_ms, seen.ms);
  EXPECT_EQ(result.error_code, RZ_OK);

  const int32_t stop_tokens[] = {seen.ids[3]};
  options.on_token = nullptr;
  options.stop_tokens = stop_tokens;
  options.n_stop_tokens = 1;
  EXPECT_EQ(generate(options), 3);
  EXPECT_EQ(result.n_cached, ids_.size() - 1);
  EXPECT_EQ(rz_clear_cache(model_, 1), 0);
  options.n_stop_tokens = 0;
  options.max_tokens = 1;
  EXPECT_EQ(generate(options), 1);
  EXPECT_EQ(result.finish_reason, RZ_FINISH_LENGTH);
  EXPECT_EQ(result.n_cached, 0u);
}

// Callers compiled before fields were added pass a smaller struct_size.
TEST_F(CApi, StructsOfEarlierVersionsKeepWorking) {
  rz_load_options load{};
  load.struct_size = offsetof(rz_load_options, isa);
  load.n_ctx = 64;
  load.isa = "not to be read";
  rz_model* model = rz_load(kModel, &load);
  ASSERT_NE(model, nullptr) << rz_last_error();
  EXPECT_EQ(rz_n_ctx(model), 64);
  rz_generate_options options{};
  options.struct_size = offsetof(rz_generate_options, stop_tokens);
  options.result = reinterpret_cast<rz_result*>(1);
  ASSERT_EQ(rz_default_generate_options(model, &options), 0);
  EXPECT_EQ(options.result, reinterpret_cast<rz_result*>(1)) << "not written";
  options.temperature = 0;
  options.max_tokens = 3;
  EXPECT_EQ(rz_generate(model, ids_.data(), ids_.size(), &options, nullptr, nullptr), 3) << rz_last_error();
  rz_free(model);
}

TEST_F(CApi, ABatchGivesWhatItsPromptsGiveAlone) {
  rz_load_options load{};
  load.struct_size = sizeof load;
  load.max_seqs = 2;
  load.n_ctx = 128;
  rz_model* model = rz_load(kModel, &load);
  ASSERT_NE(model, nullptr) << rz_last_error();
  struct Ends {
    std::vector<std::string> texts{4};
    std::vector<rz_result> results{4};
  } ends;
  const auto on_result = [](size_t idx, const char* text, size_t n_bytes, const rz_result* result, void* user) {
    auto* e = static_cast<Ends*>(user);
    e->texts[idx].assign(text, n_bytes);
    e->results[idx] = *result;
  };
  const std::vector<int32_t> too_long(129, 5);
  const rz_prompt prompts[] = {
      {ids_.data(), ids_.size()}, {too_long.data(), too_long.size()}, {ids_.data(), ids_.size()}, {ids_.data(), 3}};
  auto options = greedy();
  options.max_tokens = 12;
  EXPECT_EQ(rz_generate_batch(model, prompts, 4, &options, on_result, &ends), 3) << rz_last_error();
  for (const size_t i : {0u, 2u}) {
    EXPECT_EQ(ends.texts[i], "The capital of France is Paris.");
    EXPECT_EQ(ends.results[i].finish_reason, RZ_FINISH_STOP);
    EXPECT_EQ(ends.results[i].n_prompt, ids_.size());
  }
  EXPECT_EQ(ends.results[1].finish_reason, RZ_FINISH_ERROR);
  EXPECT_EQ(ends.results[1].error_code, RZ_CONTEXT_LENGTH_EXCEEDED);
  EXPECT_EQ(ends.texts[1], "the prompt has 129 tokens, the context 128");
  EXPECT_EQ(ends.results[1].n_prompt, 129u);
  EXPECT_EQ(ends.results[3].n_prompt, 3u);
  EXPECT_LT(rz_generate_batch(model, nullptr, 1, &options, on_result, &ends), 0);
  rz_free(model);
}

TEST_F(CApi, GivesLogitsVectorsTracesAndWhatTheModelIs) {
  rz_model_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(rz_get_info(model_, &info), 0) << rz_last_error();
  EXPECT_STREQ(info.path, kModel);
  EXPECT_EQ(info.n_vocab, 2048u);
  EXPECT_EQ(info.has_chat_template, 1);
  EXPECT_STREQ(info.gpu_refusal, "");

  ASSERT_EQ(rz_set_trace(model_, 1), 0);
  std::vector<float> logits(2 * info.n_vocab);
  const auto n_ids = static_cast<uint32_t>(ids_.size());
  EXPECT_EQ(rz_logits(model_, ids_.data(), n_ids, n_ids, 2, logits.data(), logits.size()), 2 * info.n_vocab);
  EXPECT_TRUE(std::any_of(logits.begin(), logits.end(), [](float x) { return x != 0; }));
  EXPECT_LT(rz_logits(model_, ids_.data(), n_ids, n_ids, 2, logits.data(), logits.size() - 1), 0);
  EXPECT_NE(std::string(rz_last_error()).find("4096"), std::string::npos) << "floats that are needed";

  std::vector<float> last(info.d_model), mean(info.d_model);
  EXPECT_EQ(rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_LAST, last.data(), last.size()), info.d_model);
  EXPECT_EQ(rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_MEAN, mean.data(), mean.size()), info.d_model);
  EXPECT_NE(last, mean);
  EXPECT_LT(rz_embed(model_, ids_.data(), ids_.size(), 0, last.data(), last.size()), 0);

  std::vector<std::string> operations;
  const auto on_row = [](const rz_trace_row* row, void* user) {
    if (row->count > 0) static_cast<std::vector<std::string>*>(user)->emplace_back(row->op);
  };
  EXPECT_GT(rz_trace(model_, on_row, &operations), 0);
  EXPECT_NE(std::find(operations.begin(), operations.end(), "attention"), operations.end());
  EXPECT_EQ(rz_clear_trace(model_), 0);
  EXPECT_EQ(rz_trace(model_, on_row, &operations), 0);
}

TEST_F(CApi, ATraceHasEventsTotalsAndANote) {
  const auto options = greedy();
  ASSERT_EQ(rz_set_trace(model_, 1), 0);
  ASSERT_EQ(generate(options), 9);
  ASSERT_EQ(rz_set_trace(model_, 0), 0);
  rz_trace_totals totals{};
  EXPECT_LT(rz_get_trace_totals(model_, &totals), 0) << "struct_size is not set";
  totals.struct_size = sizeof totals;
  ASSERT_EQ(rz_get_trace_totals(model_, &totals), 0) << rz_last_error();
  EXPECT_EQ(totals.prefill.n_tokens, ids_.size());
  EXPECT_EQ(totals.decode.n_tokens, 9u) << "eight tokens after the first, and the one that ends the answer";
  EXPECT_GE(totals.decode.n_computed, totals.decode.n_tokens);
  EXPECT_EQ(totals.both.n_steps, totals.prefill.n_steps + totals.decode.n_steps);
  EXPECT_DOUBLE_EQ(totals.both.total_ms, totals.prefill.total_ms + totals.decode.total_ms);
  double event_us = 0;
  const auto add = [](const rz_trace_event* event, void* user) { *static_cast<double*>(user) += event->duration_us; };
  EXPECT_GT(rz_trace_events(model_, add, &event_us), 100);
  EXPECT_NEAR(event_us, totals.both.total_ms * 1e3, 1);
  char note[256];
  EXPECT_GE(rz_trace_note(model_, note, sizeof note), 0);
  EXPECT_EQ(rz_clear_trace(model_), 0);
  EXPECT_EQ(rz_trace_events(model_, add, &event_us), 0);
  EXPECT_LT(rz_trace_events(model_, nullptr, nullptr), 0);
}

TEST_F(CApi, TellsTheConfigAndWhatEachDeviceHolds) {
  rz_model_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(rz_get_info(model_, &info), 0);
  EXPECT_GT(info.norm_eps, 0);
  EXPECT_LT(info.norm_eps, 1e-3);
  EXPECT_EQ(info.rope_base, 10000);
  EXPECT_EQ(info.n_rope_dims, info.head_dim);
  EXPECT_EQ(info.rope_scale, 1);
  EXPECT_GT(info.scratch_bytes, 0u);
  EXPECT_STREQ(info.quantization, "Q8_0");
  std::vector<rz_device> devices;
  const auto keep = [](const rz_device* device, void* user) {
    EXPECT_NE(device->name, nullptr);
    static_cast<std::vector<rz_device>*>(user)->push_back(*device);
  };
  ASSERT_GE(rz_devices(model_, keep, &devices), 1) << rz_last_error();
  uint64_t n_weight_bytes = 0;
  for (const rz_device& device : devices) n_weight_bytes += device.weight_bytes;
  EXPECT_EQ(n_weight_bytes, info.weight_bytes);
}

TEST_F(CApi, DrawsFromTheCallersLogitsWhatGenerationsDraw) {
  auto options = greedy();
  options.temperature = 1.5f;
  options.top_k = 50;
  options.seed = UINT64_MAX;
  options.ignore_eos = 1;
  options.max_tokens = 5;
  std::vector<int32_t> expected;
  options.on_token = [](const rz_token* token, void* user) {
    return static_cast<std::vector<int32_t>*>(user)->push_back(token->id), 1;
  };
  options.on_token_user = &expected;
  ASSERT_EQ(generate(options), 5) << rz_last_error();
  const rz_parameter parameters[] = {{"temperature", 1.5}, {"top_k", 50}};
  rz_sampler_options sampling{};
  sampling.struct_size = sizeof sampling;
  sampling.n_vocab = static_cast<uint32_t>(rz_n_vocab(model_));
  sampling.parameters = parameters;
  sampling.n_parameters = 2;
  sampling.model = model_;
  sampling.has_seed = 1;
  sampling.seed = UINT64_MAX;
  rz_sampler* sampler = rz_sampler_new(&sampling);
  ASSERT_NE(sampler, nullptr) << rz_last_error();
  std::vector<int32_t> text = ids_;
  std::vector<float> logits(sampling.n_vocab);
  const auto n_prompt = static_cast<uint32_t>(ids_.size());
  for (int i = 0; i < 5; ++i) {
    ASSERT_GT(rz_logits(model_, text.data(), text.size(), n_prompt, 1, logits.data(), logits.size()), 0);
    text.push_back(static_cast<int32_t>(rz_sample(sampler, logits.data(), logits.size(), text.data(), text.size())));
  }
  EXPECT_EQ(std::vector<int32_t>(text.begin() + n_prompt, text.end()), expected);
  EXPECT_EQ(rz_sampler_reset(sampler), 0);
  EXPECT_LT(rz_sample(sampler, logits.data(), 7, nullptr, 0), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_LT(rz_sample(nullptr, logits.data(), 7, nullptr, 0), 0);
  rz_sampler_free(sampler);
  rz_sampler_free(nullptr);
  sampling.n_vocab = 0;
  EXPECT_EQ(rz_sampler_new(&sampling), nullptr);
  EXPECT_NE(std::string(rz_last_error()).find("n_vocab"), std::string::npos);
}

TEST_F(CApi, APromptThatIsTooLongIsToldWithItsNumbers) {
  const std::vector<int32_t> ids(1030, 5);
  EXPECT_LT(rz_generate(model_, ids.data(), ids.size(), nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_CONTEXT_LENGTH_EXCEEDED);
  EXPECT_EQ(rz_last_error_n_prompt(), 1030u);
  EXPECT_EQ(rz_last_error_n_ctx(), 1024u);
  EXPECT_LT(rz_n_ctx(nullptr), 0);
  EXPECT_EQ(rz_last_error_n_prompt(), 0u);
  EXPECT_EQ(rz_last_error_n_ctx(), 0u);
}

TEST_F(CApi, ACallbackMayAskTheModelButNotRunIt) {
  struct Asked {
    rz_model* model;
    std::vector<int64_t> refused;
    std::vector<int> codes;
    int64_t n_tokens = 0, n_vocab = 0;
  } asked{model_, {}, {}};
  const auto ask = [](const char*, size_t, void* user) {
    auto* a = static_cast<Asked*>(user);
    const int32_t id = 5;
    const rz_prompt prompt{&id, 1};
    std::vector<float> room(4096);
    const auto refuse = [&](int64_t result) {
      a->refused.push_back(result);
      a->codes.push_back(rz_last_error_code());
    };
    refuse(rz_generate(a->model, &id, 1, nullptr, nullptr, nullptr));
    refuse(rz_generate_batch(a->model, &prompt, 1, nullptr, nullptr, nullptr));
    refuse(rz_logits(a->model, &id, 1, 1, 1, room.data(), room.size()));
    refuse(rz_embed(a->model, &id, 1, RZ_POOL_LAST, room.data(), room.size()));
    refuse(rz_load_lora(a->model, "none.gguf"));
    refuse(rz_unload_lora(a->model, "none"));
    refuse(rz_clear_cache(a->model, 1));
    refuse(rz_set_trace(a->model, 1));
    refuse(rz_session_open(a->model, 0) == nullptr ? -1 : 0);
    rz_free(a->model);
    refuse(rz_last_error_code() == RZ_OK ? 0 : -1);
    a->n_tokens = rz_tokenize(a->model, "Hello world", 0, 0, nullptr, 0);
    a->n_vocab = rz_n_vocab(a->model);
    return 0;
  };
  const auto options = greedy();
  EXPECT_EQ(generate(options, ask, &asked), 1) << rz_last_error();
  EXPECT_EQ(asked.refused, std::vector<int64_t>(10, -1));
  EXPECT_EQ(asked.codes, std::vector<int>(10, RZ_INVALID_ARGUMENT));
  EXPECT_GT(asked.n_tokens, 1);
  EXPECT_EQ(asked.n_vocab, 2048);
  EXPECT_EQ(generate(options), 9) << "afterwards it is free";
}

TEST_F(CApi, AChainOfItsOwnAndBreakersAreGiven) {
  rz_generate_options options = greedy();
  options.temperature = 5;
  options.top_k = 1;
  rz_sampler_chain chain{};
  chain.struct_size = sizeof chain;
  chain.samplers = "top_k;temperature";
  options.chain = &chain;
  std::string text;
  EXPECT_EQ(generate(options, append, &text), 9) << rz_last_error();
  EXPECT_EQ(text, "The capital of France is Paris.");
  const auto refused = [&] {
    EXPECT_LT(generate(options), 0);
    EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
    return std::string(rz_last_error());
  };
  chain.samplers = "top_k,temperature";
  EXPECT_EQ(refused().rfind("samplers: expected penalties (e), ", 0), 0u);
  chain.samplers = nullptr;
  const char* breakers[] = {"\n", ""};
  chain.dry_breakers = breakers;
  chain.n_dry_breakers = 2;
  EXPECT_EQ(refused(), "dry_sequence_breakers: expected texts of 1 to 40 bytes, actual 0");
  chain.n_dry_breakers = 1;
  options.top_k = 0;
  options.temperature = 0;
  EXPECT_EQ(generate(options), 9) << rz_last_error();
  breakers[0] = nullptr;
  EXPECT_EQ(refused(), "dry_breakers is null");
  chain.dry_breakers = nullptr;
  EXPECT_EQ(refused(), "dry_breakers is null");
  chain.struct_size = 0;
  EXPECT_EQ(refused(), "struct_size is not set");
}

TEST_F(CApi, ParametersAreGivenByName) {
  rz_generate_options options = greedy();
  options.temperature = 5;
  rz_parameter parameters[] = {{"temperature", 0}, {"min_p", 0.1}};
  options.parameters = parameters;
  options.n_parameters = 2;
  std::string text;
  EXPECT_EQ(generate(options, append, &text), 9) << rz_last_error();
  EXPECT_EQ(text, "The capital of France is Paris.");
  const auto refused = [&](rz_parameter parameter) {
    parameters[1] = parameter;
    EXPECT_LT(generate(options), 0);
    EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
    return std::string(rz_last_error());
  };
  EXPECT_EQ(refused({"colour", 1}), "there is no sampling parameter 'colour'");
  EXPECT_EQ(refused({"min_p", 2}), "min_p: expected 0 to 1, actual 2");
  EXPECT_EQ(refused({nullptr, 2}), "parameters.name is null");
  options.parameters = nullptr;
  EXPECT_LT(generate(options), 0);
}

TEST_F(CApi, TokensAreBiasedById) {
  rz_generate_options options = greedy();
  const rz_logit_bias bias{7, 1000.0f};
  options.logit_bias = &bias;
  options.n_logit_bias = 1;
  options.max_tokens = 3;
  std::vector<int32_t> tokens;
  options.on_token = [](const rz_token* token, void* user) {
    static_cast<std::vector<int32_t>*>(user)->push_back(token->id);
    return 1;
  };
  options.on_token_user = &tokens;
  EXPECT_EQ(generate(options), 3) << rz_last_error();
  EXPECT_EQ(tokens, std::vector<int32_t>(3, 7));
  options.logit_bias = nullptr;
  EXPECT_LT(generate(options), 0);
  EXPECT_STREQ(rz_last_error(), "logit_bias is null");
}

// The error is reported before anything is computed.
TEST_F(CApi, ANullPointerWithACountIsAnError) {
  size_t n_pieces = 0;
  const auto count = [](const char*, size_t, void* user) { return static_cast<int>(++*static_cast<size_t*>(user)); };
  const auto expect_refused = [&](const rz_generate_options& options, const char* name) {
    EXPECT_LT(generate(options, count, &n_pieces), 0) << name;
    EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(rz_last_error()).find(name), std::string::npos) << rz_last_error();
  };
  auto no_stops = greedy(), no_stop_tokens = greedy(), unset_result = greedy();
  no_stops.n_stop = 1;
  no_stop_tokens.n_stop_tokens = 1;
  rz_result result{};
  unset_result.result = &result;
  expect_refused(no_stops, "stop is null");
  expect_refused(no_stop_tokens, "stop_tokens is null");
  expect_refused(unset_result, "struct_size");
  EXPECT_EQ(n_pieces, 0u);
  rz_load_options load{};
  load.struct_size = sizeof load;
  load.n_devices = 1;
  EXPECT_EQ(rz_load(kModel, &load), nullptr);
  EXPECT_NE(std::string(rz_last_error()).find("devices is null"), std::string::npos) << rz_last_error();
}

TEST_F(CApi, NumbersThatNoModelCanHaveAreRefusedByName) {
  const auto expect_refused = [](const rz_load_options& load, const char* name, int code = RZ_INVALID_ARGUMENT) {
    rz_model* model = rz_load(kModel, &load);
    EXPECT_EQ(model, nullptr) << name;
    EXPECT_EQ(rz_last_error_code(), code) << name;
    EXPECT_NE(std::string(rz_last_error()).find(name), std::string::npos) << rz_last_error();
    rz_free(model);
  };
  rz_load_options load{};
  load.struct_size = sizeof load;
  load.backend = "cpu";
  rz_load_options threads = load, drafts = load, ctx = load;
  threads.n_threads = UINT32_MAX;
  drafts.n_draft = UINT32_MAX;
  ctx.n_ctx = UINT32_MAX;
  expect_refused(threads, "threads");
  expect_refused(drafts, "draft");
  expect_refused(ctx, "ctx", RZ_RESOURCE_EXHAUSTED);
}

TEST_F(CApi, AVectorIsWholeOrTheCallWasCancelled) {
  std::vector<float> vector(1024);
  std::atomic<bool> is_done{false};
  std::thread canceller([&] {
    while (!is_done) rz_cancel(model_);
  });
  const int64_t n = rz_embed(model_, ids_.data(), ids_.size(), RZ_POOL_MEAN, vector.data(), vector.size());
  const int code = rz_last_error_code();
  is_done = true;
  canceller.join();
  if (n < 0) {
    EXPECT_EQ(code, RZ_CANCELLED);
    return;
  }
  double square_sum = 0;
  for (int64_t i = 0; i < n; ++i) square_sum += double{vector[static_cast<size_t>(i)]} * vector[static_cast<size_t>(i)];
  EXPECT_NEAR(square_sum, 1.0, 1e-3);
}

TEST_F(CApi, CallsWithoutAModelKeepTheErrorOfLoading) {
  rz_model* none = rz_load("/no/such/model.gguf", nullptr);
  ASSERT_EQ(none, nullptr);
  const std::string why = rz_last_error();
  EXPECT_NE(why.find("/no/such/model.gguf"), std::string::npos);
  const rz_message message{"user", "hi"};
  rz_generate_options generate{};
  generate.struct_size = sizeof generate;
  rz_model_info info{};
  info.struct_size = sizeof info;
  rz_reasoning asked{};
  asked.struct_size = sizeof asked;
  const int32_t id = 5;
  float number = 0;
  const std::vector<std::function<int64_t()>> calls = {
      [&] { return rz_chat_prompt(none, &message, 1, nullptr, 0); },
      [&] { return rz_apply_chat_template(none, kChat, nullptr, 0); },
      [&] { return rz_tokenize(none, "x", 0, 0, nullptr, 0); },
      [&] { return rz_detokenize(none, &id, 1, nullptr, 0); },
      [&] { return rz_rank_prompt(none, "a", "b", nullptr, 0); },
      [&] { return rz_plan_reasoning(none, &asked, nullptr, 0, nullptr); },
      [&] { return rz_n_vocab(none); },
      [&] { return rz_n_ctx(none); },
      [&] { return int64_t{rz_get_info(none, &info)}; },
      [&] { return int64_t{rz_default_generate_options(none, &generate)}; },
      [&] { return rz_generate(none, &id, 1, nullptr, nullptr, nullptr); },
      [&] { return rz_generate_batch(none, nullptr, 0, nullptr, nullptr, nullptr); },
      [&] { return rz_logits(none, &id, 1, 1, 1, &number, 1); },
      [&] { return rz_embed(none, &id, 1, RZ_POOL_LAST, &number, 1); },
      [&] { return rz_rank(none, "a", nullptr, 0, &number, 1); },
      [&] { return int64_t{rz_load_lora(none, "x")}; },
      [&] { return int64_t{rz_unload_lora(none, "x")}; },
      [&] { return int64_t{rz_clear_cache(none, 0)}; },
      [&] { return int64_t{rz_set_trace(none, 1)}; },
      [&] { return rz_trace(none, nullptr, nullptr); },
      [&] { return int64_t{rz_clear_trace(none)}; },
      [&] { return rz_session_open(none, 0) == nullptr ? -1 : 0; },
      [&] { return rz_session_submit(nullptr, nullptr, nullptr, nullptr, nullptr); },
      [&] { return int64_t{rz_session_cancel(nullptr, 1)}; },
      [&] { return int64_t{rz_session_wait(nullptr)}; },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_LT(calls[i](), 0) << i;
    EXPECT_EQ(rz_last_error(), why) << i;
    EXPECT_EQ(rz_last_error_code(), RZ_NOT_FOUND) << i;
  }
  rz_free(none);
  EXPECT_EQ(rz_last_error(), why);
}

TEST_F(CApi, ANullModelIsAnErrorOfItsOwnAfterOtherCalls) {
  EXPECT_EQ(rz_load("/no/such/model.gguf", nullptr), nullptr);
  EXPECT_EQ(rz_n_vocab(model_), 2048);
  EXPECT_LT(rz_n_vocab(nullptr), 0);
  EXPECT_STREQ(rz_last_error(), "model is null");
  EXPECT_LT(rz_tokenize(model_, nullptr, 0, 0, nullptr, 0), 0);
  EXPECT_STREQ(rz_last_error(), "text is null");
  EXPECT_LT(rz_session_wait(nullptr), 0);
  EXPECT_STREQ(rz_last_error(), "session is null");
}

TEST_F(CApi, ErrorsAreToldAndNothingCrashes) {
  EXPECT_EQ(rz_load("/no/such/model.gguf", nullptr), nullptr);
  EXPECT_EQ(rz_last_error_code(), RZ_NOT_FOUND);
  EXPECT_NE(std::string(rz_last_error()).find("/no/such/model.gguf"), std::string::npos);
  EXPECT_EQ(rz_load(nullptr, nullptr), nullptr);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  rz_load_options options{};
  options.struct_size = sizeof options;
  options.backend = "abacus";
  EXPECT_EQ(rz_load(kModel, &options), nullptr);
  EXPECT_NE(std::string(rz_last_error()).find("abacus"), std::string::npos);
  EXPECT_LT(rz_tokenize(nullptr, "x", 0, 0, nullptr, 0), 0);
  EXPECT_LT(rz_tokenize(model_, nullptr, 0, 0, nullptr, 0), 0);
  EXPECT_LT(rz_generate(model_, nullptr, 0, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_LT(rz_apply_chat_template(model_, "[]", nullptr, 0), 0);
  EXPECT_LT(rz_chat_prompt(model_, nullptr, 1, nullptr, 0), 0);
  const rz_message no_content{"user", nullptr};
  EXPECT_LT(rz_chat_prompt(model_, &no_content, 1, nullptr, 0), 0);
  EXPECT_EQ(rz_last_error_code(), RZ_INVALID_ARGUMENT);
  EXPECT_LT(rz_n_vocab(nullptr), 0);
  auto null_stop = greedy();
  const char* stop[] = {nullptr};
  null_stop.stop = stop;
  null_stop.n_stop = 1;
  const int32_t id = 5;
  EXPECT_LT(rz_generate(model_, &id, 1, &null_stop, nullptr, nullptr), 0);
  rz_model_info unset{};
  EXPECT_LT(rz_get_info(model_, &unset), 0);
  EXPECT_LT(rz_clear_cache(nullptr, 0), 0);
  EXPECT_LT(rz_embed(model_, &id, 1, RZ_POOL_LAST, nullptr, 9999), 0);
  rz_free(nullptr);
  rz_cancel(nullptr);
  EXPECT_EQ(rz_n_vocab(model_), 2048);
}

}  // namespace
