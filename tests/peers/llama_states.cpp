// The output of llama.cpp for a text with a GGUF encoder, in the format of tests/data/conformance: writes
// NAME.tokens.json and NAME.logits.npy next to NAME.gguf, the states of the last tokens of one text, or if the file
// requests a pooling NAME.pooled.json: its one vector, not normalized, or its scores. Not part of the build: it is
// compiled by hand like llama_logits.
#include <llama.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "npy_writer.h"

namespace {

constexpr int kTokens = 48, kRows = 16;

template <class T>
void write_json(const std::string& path, const std::vector<T>& values) {
  std::ofstream out(path);
  out.precision(9);
  for (size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "[" : ", ") << values[i];
  out << "]\n";
}

bool run(llama_model* model, enum llama_pooling_type pooling, const std::string& name,
         const std::vector<llama_token>& tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 64;
  params.n_threads = params.n_threads_batch = 1;
  params.embeddings = true;
  params.pooling_type = pooling;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return false;
  llama_batch batch = llama_batch_init(kTokens, 0, 1);
  batch.n_tokens = kTokens;
  for (int i = 0; i < kTokens; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  // A decoder with scores has a cache.
  const bool is_decoder = llama_get_memory(context) != nullptr;
  const bool done = (is_decoder ? llama_decode(context, batch) : llama_encode(context, batch)) == 0;
  const int d_model = llama_model_n_embd(model);
  const bool is_pooled = llama_pooling_type(context) != LLAMA_POOLING_TYPE_NONE;
  if (done && is_pooled) {
    const bool ranks = llama_pooling_type(context) == LLAMA_POOLING_TYPE_RANK;
    const int n = ranks ? static_cast<int>(llama_model_n_cls_out(model)) : d_model;
    const float* pooled = llama_get_embeddings_seq(context, 0);
    write_json(name + ".pooled.json", std::vector<float>(pooled, pooled + n));
  } else if (done) {
    std::vector<float> states;
    for (int i = kTokens - kRows; i < kTokens; ++i) {
      const float* row = llama_get_embeddings_ith(context, i);
      states.insert(states.end(), row, row + d_model);
    }
    write_npy(name + ".logits.npy", states, kRows, d_model);
  }
  llama_batch_free(batch);
  llama_free(context);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: llama_states NAME [SEED]\nreads NAME.gguf\n");
    return 2;
  }
  const std::string name = argv[1];
  std::mt19937 random(argc > 2 ? std::stoul(argv[2]) : 1);
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file((name + ".gguf").c_str(), model_params);
  if (model == nullptr) return 1;
  const auto n_vocab = static_cast<unsigned>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
  std::vector<llama_token> tokens;
  for (int i = 0; i < kTokens; ++i) tokens.push_back(static_cast<llama_token>(random() % n_vocab));
  write_json(name + ".tokens.json", tokens);
  const bool done =
      run(model, LLAMA_POOLING_TYPE_NONE, name, tokens) && run(model, LLAMA_POOLING_TYPE_UNSPECIFIED, name, tokens);
  return done ? 0 : 1;
}
