#include "backend/cpu/runners/products.h"

namespace realizar::cpu {

void prepare_rows(StepContext& step, PreparedRows& to, const float* source, const PackedMatrix& m, const RowList& list,
                  uint32_t member) {
  step.share(list.n_rows, member, [&](uint32_t r) {
    if (m.is_plain() && r < list.n_decode) return;  // these rows are read unprepared
    to.prepare(step.kernels(), m, set_of(list), source + size_t{r} * m.n_cols, r);
  });
  step.barrier(member);
}

}  // namespace realizar::cpu
