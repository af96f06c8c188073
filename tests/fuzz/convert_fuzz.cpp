// A modified model that is converted: into a folder and back, into another file, or into parts. A model that run
// refuses is refused with the same message and leaves no files; a converted one can be run.
#include "mutated_model.h"
#include "tools/convert.h"

namespace {

using namespace realizar;

void convert_back(const fuzz::Folder& folder, const std::filesystem::path& made, std::optional<TypeId> type) {
  const auto back = folder / "back.gguf";
  const auto report = convert(made, back, {type, 0, ""}, {});
  if (!report.ok()) return fuzz::judge_refusal({}, report.error());
  fuzz::judge_file({}, back);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Folder folder("rz_convert_fuzz");
  folder.clear();
  fuzz::Choices choices(data, size);
  constexpr std::optional<TypeId> kTypes[] = {std::nullopt, TypeId::kF16, TypeId::kBF16, TypeId::kF32};
  constexpr uint64_t kPartBytes = 20000;
  const uint8_t way = choices.byte() % 3;
  const std::optional<TypeId> type = choices.of(kTypes);
  const fuzz::MutatedModel model(choices);
  const auto in = folder / "in.gguf";
  model.write(in);
  const Status source = fuzz::load(in);
  const bool is_folder = way == 0;
  const auto out = folder / (is_folder ? "out" : "out.gguf");
  const ConvertOptions options{is_folder ? type : std::nullopt, way == 1 ? kPartBytes : 0, ""};
  const auto report = convert(in, out, options, {});
  if (!report.ok()) {
    fuzz::judge_refusal(source, report.error());
    if (folder.n_entries() != 1) fuzz::fail("refused, and something is left", report.error().message);
    if (!is_folder && source.ok()) fuzz::fail("refused, though nothing changes", report.error().message);
    return 0;
  }
  fuzz::judge_file(source, is_folder ? out : report->files.front());
  if (is_folder) convert_back(folder, out, type);
  return 0;
}
