// Macros that pass the error of a called function on to the caller.
#pragma once

#include <utility>

#include "realizar/result.h"

#define RZ_CONCAT_INNER(a, b) a##b
#define RZ_CONCAT(a, b) RZ_CONCAT_INNER(a, b)

// RZ_TRY(auto x, f()): declares x from f()'s value, or returns f()'s error.
#define RZ_TRY(decl, expr) RZ_TRY_WITH(RZ_CONCAT(rz_result_, __LINE__), decl, expr)
#define RZ_TRY_WITH(tmp, decl, expr)            \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = std::move(tmp).value()

// RZ_CHECK_OK(f()): returns f()'s error, if there is one.
#define RZ_CHECK_OK(expr)                                                              \
  do {                                                                                 \
    if (auto rz_status = (expr); !rz_status.ok()) return std::move(rz_status).error(); \
  } while (false)
