// A model's description in its file, apart from its weights, as Ollama's API shows models. Reading one takes time in
// proportion to its vocabulary: for workers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "realizar/options.h"
#include "realizar/result.h"
#include "server/http/json.h"

namespace realizar::server {

struct ModelCard {
  std::string arch, quantization, license;
  bool is_gguf = true;
  uint64_t n_params = 0, n_bytes = 0;  // of the file
  uint64_t n_needed_bytes = 0;         // with its cache, once it is loaded; 0: cannot be told
  uint32_t n_ctx = 0, d_model = 0;     // as it was trained
  std::string template_source;         // Jinja; "": it has none
  std::string parameters;              // what its makers recommend: lines of a name and a value
  // A subset of completion, tools, insert, thinking, embedding.
  std::vector<std::string> capabilities;
};
using ModelCardPtr = std::shared_ptr<const ModelCard>;

// Without n_needed_bytes. Errors: those of the file, its config and its tokenizer.
Result<ModelCard> read_model_card(const std::string& path);

// The metadata of a file under GGUF's names, as in /api/show; arrays are null unless `verbose`. A Hugging Face model
// has its config's names, and in addition those that clients read.
Result<Json> read_model_info(const std::string& path, const ModelCard& card, bool verbose);
// [{name, type, shape}], the shape in GGUF's order.
Result<Json> read_tensor_list(const std::string& path);

// "8.0B", "1.54M", "800".
std::string parameter_size(uint64_t n_params);

// Cards that were read before. Any thread.
class ModelCards {
 public:
  // `load`: how the server loads models.
  explicit ModelCards(LoadOptions load) : load_(std::move(load)) {}

  // An empty card if the file cannot be read, which is then tried again.
  ModelCardPtr of(const std::string& path);
  void forget(const std::string& path);

 private:
  const LoadOptions load_;
  std::mutex mutex_;
  std::map<std::string, ModelCardPtr> cards_;
};

}  // namespace realizar::server
