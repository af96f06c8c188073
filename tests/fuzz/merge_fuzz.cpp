// A modified model in parts, whose keys may be wrong, that is merged. A model that run refuses is refused with the same
// message and leaves no files; a merged one can be run.
#include "mutated_model.h"
#include "tools/convert.h"

namespace {

using namespace realizar;

std::string part_name(size_t part, size_t n_parts) {
  return fmt::format("m-{:05}-of-{:05}.gguf", part + 1, n_parts);
}

// The fault in each part's keys; 0: none.
using Faults = std::vector<uint8_t>;

void write_parts(const fuzz::MutatedModel& model, const Faults& faults, const fuzz::Folder& folder) {
  const size_t n_parts = faults.size();
  std::vector<GgufWriter> parts(n_parts);
  parts.front() = model.keys();
  size_t next = 0;
  for (const fuzz::MutatedTensor& tensor : model.tensors()) {
    fuzz::MutatedModel::add_tensor(parts[next++ % n_parts], tensor);
  }
  const auto n_tensors = static_cast<uint32_t>(model.tensors().size());
  for (size_t i = 0; i < n_parts; ++i) {
    const uint8_t fault = faults[i];
    if (fault != 1) parts[i].add_u32("split.no", static_cast<uint32_t>(i));
    if (fault == 1) parts[i].add_string("split.no", "one");
    if (fault != 2) parts[i].add_u32("split.count", static_cast<uint32_t>(fault == 3 ? n_parts + 1 : n_parts));
    if (fault != 4) parts[i].add_u32("split.tensors.count", fault == 5 ? n_tensors + 1 : n_tensors);
    if (fault == 6) parts[i].add_string("split.set_id", "another");
    if (fault != 7 && !parts[i].write(folder / part_name(i, n_parts)).ok()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder("rz_merge_fuzz");
  folder.clear();
  fuzz::Choices choices(data, size);
  const size_t n_parts = 1 + choices.below(4), given = choices.below(n_parts);
  Faults faults(n_parts);
  for (uint8_t& fault : faults) fault = choices.byte();
  const fuzz::MutatedModel model(choices);
  write_parts(model, faults, folder);
  const size_t n_files = folder.n_entries();
  const auto in = folder / part_name(given, n_parts), out = folder / "out.gguf";
  const Status source = fuzz::load(in);
  const auto report = convert(in, out, {}, {});
  if (report.ok()) {
    fuzz::judge_file(source, out);
    return 0;
  }
  fuzz::judge_refusal(source, report.error());
  if (folder.n_entries() != n_files) fuzz::fail("refused, and something is left", report.error().message);
  if (source.ok()) fuzz::fail("refused, though nothing changes", report.error().message);
  return 0;
}
