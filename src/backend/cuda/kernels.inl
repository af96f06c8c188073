// All kernels and their table, for one compiler. Each file needs the ones before it.
// clang-format off
#include "backend/cuda/formats.inl"
#include "backend/cuda/dots.inl"
#include "backend/cuda/rows.inl"
#include "backend/cuda/linear.inl"
#include "backend/cuda/tiles.inl"
#include "backend/cuda/group_tiles.inl"
#include "backend/cuda/linear_few.inl"
#include "backend/cuda/linear_many.inl"
#include "backend/cuda/linear_split.inl"
#include "backend/cuda/attention.inl"
#include "backend/cuda/experts.inl"
#include "backend/cuda/choose.inl"
#include "backend/cuda/peaks.inl"
#include "backend/cuda/table.inl"
// clang-format on
