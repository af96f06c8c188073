// All kernels and their table, for one compiler: nvcc, or the one of the tests. Each file needs the ones before it.
// clang-format off
#include "backend/cuda/formats.inl"
#include "backend/cuda/rows.inl"
#include "backend/cuda/linear.inl"
#include "backend/cuda/linear_many.inl"
#include "backend/cuda/attention.inl"
#include "backend/cuda/experts.inl"
// clang-format on

constexpr KernelTable kKernelTable{.embed = embed,
                                   .norm = norm,
                                   .quantize = quantize,
                                   .linear = linear,
                                   .linear_many = linear_many,
                                   .rope_store = rope_store,
                                   .attention = attention,
                                   .route = route,
                                   .experts_hidden = experts_hidden,
                                   .experts_down = experts_down,
                                   .select_rows = select_rows};
