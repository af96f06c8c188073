// All kernels and their table, for one compiler. Each file needs the ones before it.
// clang-format off
#include "backend/cuda/formats.inl"
#include "backend/cuda/dots.inl"
#include "backend/cuda/rows.inl"
#include "backend/cuda/linear.inl"
#include "backend/cuda/linear_many.inl"
#include "backend/cuda/kv_cache.inl"
#include "backend/cuda/rope.inl"
#include "backend/cuda/attention_fragments.inl"
#include "backend/cuda/attention_plain.inl"
#include "backend/cuda/attention_decode.inl"
#include "backend/cuda/attention_prefill.inl"
#include "backend/cuda/experts.inl"
#include "backend/cuda/table.inl"
// clang-format on
