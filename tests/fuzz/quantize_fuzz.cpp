// A modified model that is quantized, with or without an importance matrix whose entries may have another shape. A
// model that run refuses is refused with the same message and leaves no files; a quantized one can be run.
#include "mutated_model.h"
#include "tools/quantize.h"

namespace {

using namespace realizar;

Imatrix importance_of(const fuzz::MutatedModel& model, fuzz::Choices& choices) {
  Imatrix importance;
  for (const fuzz::MutatedTensor& tensor : model.tensors()) {
    if (tensor.shape.size() < 2) continue;
    const uint64_t n_mats = tensor.shape.size() > 2 ? tensor.shape[0] : 1;
    const uint8_t odd = choices.byte();
    const uint64_t n_cols = tensor.shape.back() + (odd == 1 ? 1 : 0), n_own = odd == 2 ? 1 : n_mats;
    const float sum = odd == 3 ? std::numeric_limits<float>::max() : 1, count = odd == 4 ? 0 : 2;
    ImatrixEntry entry{std::vector<float>(n_own * n_cols, sum), std::vector<float>(n_own, count)};
    importance.entries.emplace(tensor.name, std::move(entry));
  }
  return importance;
}

Status quantize(const std::filesystem::path& in, const std::filesystem::path& out, const QuantizeOptions& options) {
  RZ_TRY(const ModelFile file, ModelFile::open(in));
  RZ_TRY(const SourceModel source, source_of(file));
  RZ_TRY(const QuantizePlan plan, plan_types(source, options));
  return write_quantized(source, plan, options, {}, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder("rz_quantize_fuzz");
  folder.clear();
  fuzz::Choices choices(data, size);
  QuantizeOptions options;
  options.mix = &choices.of(all_mixes());
  const uint8_t flags = choices.byte();
  options.is_pure = flags % 2 == 1;
  options.allow_requantize = flags / 2 % 2 == 1;
  const fuzz::MutatedModel model(choices);
  const Imatrix importance = importance_of(model, choices);
  if (flags / 4 % 2 == 1) options.importance = &importance;
  const auto in = folder / "in.gguf", out = folder / "out.gguf";
  model.write(in);
  const Status source = fuzz::load(in);
  const Status made = quantize(in, out, options);
  if (made.ok()) {
    fuzz::judge_file(source, out);
    return 0;
  }
  fuzz::judge_refusal(source, made.error());
  if (folder.n_entries() != 1) fuzz::fail("refused, and something is left", made.error().message);
  return 0;
}
