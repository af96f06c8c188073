// Writes a model file with its matrices in other types. A plan assigns a type to each tensor; writing processes a
// tensor piece by piece, with the rows of a piece shared by all threads, so that memory stays bounded for any model
// size. The file is the same for any number of threads and on every processor.
#pragma once

#include <regex.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "realizar/result.h"
#include "tools/imatrix.h"
#include "tools/mix.h"
#include "tools/source_model.h"

namespace realizar {

// A regular expression (POSIX, extended) that is searched for in a tensor's name.
class NamePattern {
 public:
  // Errors: InvalidArgument (not an expression, with the reason).
  static Result<NamePattern> compile(const std::string& text);
  bool is_in(const std::string& name) const;

 private:
  struct Free {
    void operator()(regex_t* expression) const;
  };
  explicit NamePattern(std::unique_ptr<regex_t, Free> expression) : expression_(std::move(expression)) {}
  std::unique_ptr<regex_t, Free> expression_;
};

struct TypeRule {
  NamePattern pattern;
  TypeId type;
};

struct QuantizeOptions {
  const Mix* mix = nullptr;  // null: every tensor keeps its type
  bool is_pure = false;      // every matrix gets the mixture's base type
  std::optional<TypeId> output_type, embedding_type;
  std::vector<TypeRule> rules;    // the first match overrides everything else
  bool allow_requantize = false;  // permit quantized sources
  const Imatrix* importance = nullptr;
  std::string importance_file;  // name of its file, for the metadata
};

struct PlannedType {
  TypeId type;
  std::string note;  // why it differs from the wanted type; may be empty
};

struct QuantizePlan {
  std::vector<PlannedType> types;  // for the source's tensors
  uint64_t n_source_bytes = 0, n_bytes = 0, n_elems = 0;

  double bits_per_weight() const {
    return n_elems == 0 ? 0 : 8.0 * static_cast<double>(n_bytes) / static_cast<double>(n_elems);
  }
};

// Errors: InvalidArgument (a quantized source without allow_requantize, a type that requires an importance matrix).
Result<QuantizePlan> plan_types(const SourceModel& source, const QuantizeOptions& options);

struct QuantizeRun {
  uint32_t n_threads = 1;
  const std::atomic<bool>* stop = nullptr;  // once it is true, writing is abandoned
  // Called after each piece: the tensor's index, and bytes of the source that are done.
  std::function<void(size_t tensor_idx, uint64_t n_bytes)> progress = [](size_t, uint64_t) {};
};

// Writes the planned file. Errors: InvalidArgument (the path, the disk), FormatError (a value that is not finite, with
// its tensor's name; the importance matrix of another model), Cancelled (stop).
Status write_quantized(const SourceModel& source, const QuantizePlan& plan, const QuantizeOptions& options,
                       const QuantizeRun& run, const std::filesystem::path& path);

// Entries of the file in addition to the source's: the mixture, and the origin of its importance matrix.
GgufWriter quantized_entries(const SourceModel& source, const QuantizeOptions& options);

}  // namespace realizar
