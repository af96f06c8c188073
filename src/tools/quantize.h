// A model file with its matrices in other types. A plan says which tensor becomes what; writing it takes a piece of a
// tensor at a time, which all threads share by rows, so that memory stays bounded whatever the model's size. The same
// file comes out for any number of threads and on every processor.
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

// A regular expression (POSIX, extended) that is looked for in a tensor's name.
class NamePattern {
 public:
  // Errors: InvalidArgument (no expression, with the reason).
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
  bool is_pure = false;      // every matrix has the mixture's base type
  std::optional<TypeId> output_type, embedding_type;
  std::vector<TypeRule> rules;    // the first that fits goes before all else
  bool allow_requantize = false;  // of what is quantized already
  const Imatrix* importance = nullptr;
  std::string importance_file;  // its name, for the metadata
};

struct PlannedType {
  TypeId type;
  std::string note;  // why it is another one than was wanted; may be empty
};

struct QuantizePlan {
  std::vector<PlannedType> types;  // of the source's tensors
  uint64_t n_source_bytes = 0, n_bytes = 0, n_elems = 0;

  double bits_per_weight() const {
    return n_elems == 0 ? 0 : 8.0 * static_cast<double>(n_bytes) / static_cast<double>(n_elems);
  }
};

// Errors: InvalidArgument (a quantized source without allow_requantize, a type that wants an importance matrix).
Result<QuantizePlan> plan_types(const SourceModel& source, const QuantizeOptions& options);

struct QuantizeRun {
  uint32_t n_threads = 1;
  const std::atomic<bool>* stop = nullptr;  // once it is true, the file is given up
  // After each piece: the tensor's place, and bytes of the source that are done.
  std::function<void(size_t tensor_idx, uint64_t n_bytes)> progress = [](size_t, uint64_t) {};
};

// Writes the planned file. Errors: InvalidArgument (the place, the disk), FormatError (a value that is not finite, with
// its tensor's name; an importance of another model), Cancelled (stop).
Status write_quantized(const SourceModel& source, const QuantizePlan& plan, const QuantizeOptions& options,
                       const QuantizeRun& run, const std::filesystem::path& path);

// What stands in the file besides the source's entries: the mixture, and where its importance comes from.
GgufWriter quantized_entries(const SourceModel& source, const QuantizeOptions& options);

}  // namespace realizar
