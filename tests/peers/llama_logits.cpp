// Logits of a GGUF model computed by llama.cpp, in the format of tests/data/conformance: writes NAME.tokens.json and
// NAME.logits.npy next to NAME.gguf. Not part of the build: it is compiled by hand with a llama.cpp that was built
// elsewhere, as described in tests/data/conformance/README.md.
#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "npy_writer.h"

namespace {

constexpr int kPrompt = 40, kSteps = 8, kRows = 16;

// Decodes tokens from position `first` on and appends the logits of the last n_rows of them.
bool decode(llama_context* context, const std::vector<llama_token>& tokens, int first, int n_rows, int n_vocab,
            std::vector<float>& logits) {
  const int n = static_cast<int>(tokens.size());
  llama_batch batch = llama_batch_init(n, 0, 1);
  batch.n_tokens = n;
  for (int i = 0; i < n; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = first + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i >= n - n_rows;
  }
  const bool done = llama_decode(context, batch) == 0;
  for (int i = n - n_rows; done && i < n; ++i) {
    const float* row = llama_get_logits_ith(context, i);
    logits.insert(logits.end(), row, row + n_vocab);
  }
  llama_batch_free(batch);
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: llama_logits NAME [SEED]\nreads NAME.gguf\n");
    return 2;
  }
  const std::string name = argv[1];
  std::mt19937 random(argc > 2 ? std::stoul(argv[2]) : 1);
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file((name + ".gguf").c_str(), model_params);
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 64;
  params.n_batch = params.n_ubatch = 64;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<llama_token> tokens;
  for (int i = 0; i < kPrompt; ++i)
    tokens.push_back(static_cast<llama_token>(random() % static_cast<unsigned>(n_vocab)));
  std::vector<float> logits;
  if (!decode(context, tokens, 0, kRows - kSteps, n_vocab, logits)) return 1;
  for (int i = 0; i < kSteps; ++i) {
    const auto last = logits.end() - n_vocab;
    tokens.push_back(static_cast<llama_token>(std::max_element(last, logits.end()) - last));
    if (!decode(context, {tokens.back()}, kPrompt + i, 1, n_vocab, logits)) return 1;
  }
  write_npy(name + ".logits.npy", logits, kRows, n_vocab);
  std::ofstream out(name + ".tokens.json");
  for (size_t i = 0; i < tokens.size(); ++i) out << (i == 0 ? "[" : ", ") << tokens[i];
  out << "]\n";
  return 0;
}
