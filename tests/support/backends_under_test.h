// The backends that the operation suite runs: one row each. A row names the arithmetic of its backend's products; the
// suite's bounds follow from that (error_model.h). A new backend is one more row.
#pragma once

#include <memory>
#include <ostream>
#include <vector>

#include "backend/backend.h"
#include "quant/type_table.h"
#include "support/error_model.h"

namespace realizar::test {

struct BackendUnderTest {
  const char* name;
  // Errors: Unsupported if this machine cannot run it; the suite then reports a skip.
  Result<std::unique_ptr<Backend>> (*make)(uint32_t n_threads);
  // Products with group types, for decode and for prefill rows, and for prefill rows with F16, BF16 and attention's
  // inputs. Everything else is multiplied in F32, except decode rows with F16 and BF16 if that names another.
  Arithmetic decode, prefill, plain_prefill;
  uint32_t max_threads = 3;  // more of the host's threads have no effect
  Arithmetic plain_decode = Arithmetic::kF32;

  Arithmetic arithmetic(TypeId type, bool is_decode) const {
    if (layout_of(type) == Layout::kGroups) return is_decode ? decode : prefill;
    if (layout_of(type) == Layout::kStored || type == TypeId::kF32) return Arithmetic::kF32;
    return is_decode ? plain_decode : plain_prefill;
  }
  // For experts' matrices and heads', whose decode rows are always multiplied one by one.
  Arithmetic parts_arithmetic(TypeId type, bool is_decode) const {
    const bool is_plain = layout_of(type) == Layout::kPlain;
    return is_decode && is_plain ? Arithmetic::kF32 : arithmetic(type, is_decode);
  }
};

std::vector<BackendUnderTest> backends_under_test();
// For a fixture's SetUp: skips a test whose backend this machine cannot run.
void skip_where_absent(const BackendUnderTest& backend);

inline void PrintTo(const BackendUnderTest& backend, std::ostream* out) {
  *out << backend.name;
}

}  // namespace realizar::test
