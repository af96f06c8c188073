#include "backend/cuda/weights/matrix_part.h"

#include <gtest/gtest.h>

namespace realizar::cuda {
namespace {

MatrixSource source_of(TypeId type, uint32_t n_rows, uint32_t n_cols, Shard shard) {
  MatrixSource source;
  source.name = "w";
  source.type = type;
  source.n_rows = n_rows;
  source.n_cols = n_cols;
  source.layer = 0;
  source.shard = shard;
  source.shard_unit = 1;
  return source;
}

void expect_part(const MatrixSource& source, uint32_t device, uint32_t n_devices, const MatrixPart& expected) {
  const MatrixPart part = part_of(source, device, n_devices).value();
  EXPECT_EQ(part.first_row, expected.first_row);
  EXPECT_EQ(part.n_rows, expected.n_rows);
  EXPECT_EQ(part.first_col, expected.first_col);
  EXPECT_EQ(part.n_cols, expected.n_cols);
}

TEST(MatrixPart, IsOfRowsOrColumnsOrAll) {
  expect_part(source_of(TypeId::kF32, 12, 8, Shard::kRows), 1, 3, {4, 4, 0, 8});
  expect_part(source_of(TypeId::kF32, 12, 8, Shard::kCols), 1, 2, {0, 12, 4, 4});
  expect_part(source_of(TypeId::kF32, 12, 8, Shard::kWhole), 1, 2, {0, 12, 0, 8});
}

TEST(MatrixPart, WhatBelongsToNoLayerIsWhole) {
  MatrixSource source = source_of(TypeId::kF32, 13, 8, Shard::kRows);
  source.layer = -1;
  expect_part(source, 1, 2, {0, 13, 0, 8});
}

TEST(MatrixPart, WhatHasNoUnitsIsWhole) {
  MatrixSource source = source_of(TypeId::kF32, 12, 8, Shard::kRows);
  source.shard_unit = 0;
  expect_part(source, 1, 2, {0, 12, 0, 8});
}

TEST(MatrixPart, OneDeviceHasAllWhateverTheUnits) {
  MatrixSource source = source_of(TypeId::kQ4_0, 8, 96, Shard::kCols);
  source.shard_unit = 40;
  expect_part(source, 3, 1, {0, 8, 0, 96});
}

TEST(MatrixPart, ColumnsAreWholeBlocks) {
  expect_part(source_of(TypeId::kQ4_K, 4, 1024, Shard::kCols), 3, 4, {0, 4, 768, 256});
  EXPECT_EQ(part_of(source_of(TypeId::kQ4_K, 4, 768, Shard::kCols), 0, 2).error().message,
            "w: 768 columns in units of 256 cannot be shared by 2 devices");
}

TEST(MatrixPart, ColumnsThatShareAScaleStayTogether) {
  expect_part(source_of(TypeId::kF8_E4M3, 4, 256, Shard::kCols), 1, 2, {0, 4, 128, 128});
  EXPECT_EQ(part_of(source_of(TypeId::kF8_E4M3, 4, 384, Shard::kCols), 0, 2).error().message,
            "w: 384 columns in units of 128 cannot be shared by 2 devices");
}

TEST(MatrixPart, UnitsStayTogether) {
  MatrixSource source = source_of(TypeId::kF32, 48, 8, Shard::kRows);
  source.shard_unit = 16;
  expect_part(source, 2, 3, {32, 16, 0, 8});
  EXPECT_EQ(part_of(source, 0, 2).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace realizar::cuda
