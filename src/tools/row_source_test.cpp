#include "tools/row_source.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tools/weave.h"

namespace realizar {
namespace {

// 0, 1, 2 ... in rows.
MatrixRows counted(uint64_t n_rows, uint64_t n_cols) {
  std::vector<float> values(n_rows * n_cols);
  std::iota(values.begin(), values.end(), 0.0f);
  return given_rows(std::move(values), n_cols);
}

// The result of reading it in pieces of n_at_once rows.
std::vector<float> read_by(const RowSource& source, uint64_t n_at_once) {
  std::vector<float> all;
  for (uint64_t row = 0; row < source.n_rows(); row += n_at_once) {
    const uint64_t n = std::min(n_at_once, source.n_rows() - row);
    std::vector<float> piece(n * source.n_cols());
    EXPECT_TRUE(source.read(row, n, reinterpret_cast<std::byte*>(piece.data())).ok());
    all.insert(all.end(), piece.begin(), piece.end());
  }
  return all;
}

void expect_values(const MatrixRows& rows, const std::vector<float>& expected) {
  for (const uint64_t n_at_once : {1, 2, 3, 100}) EXPECT_EQ(read_by(*rows, n_at_once), expected) << n_at_once;
}

TEST(RowSource, RowsAreGatheredInAnyOrderFromSeveralSources) {
  const MatrixRows rows = gathered_rows({counted(2, 2), given_rows({10, 11}, 2)}, 3, [](uint64_t row) {
    return row == 1 ? RowPlace{1, 0} : RowPlace{0, row / 2};
  });
  expect_values(rows, {0, 1, 10, 11, 2, 3});
  expect_values(joined_rows({counted(1, 2), counted(2, 2)}), {0, 1, 0, 1, 2, 3});
}

TEST(RowSource, EachMatrixOfAStackIsTurnedOver) {
  expect_values(turned_rows(counted(4, 3), 2), {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  const MatrixRows there = turned_rows(counted(4, 3), 2);
  expect_values(turned_rows(there, 3), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST(RowSource, ColumnsAreOrderedAndValuesChanged) {
  expect_values(with_columns(counted(2, 3), {2, 0, 1}), {2, 0, 1, 5, 3, 4});
  const auto add_row = [](uint64_t row, std::span<float> values) {
    for (float& value : values) value += 100.0f * static_cast<float>(row);
  };
  expect_values(changed_rows(counted(2, 2), add_row), {0, 1, 102, 103});
}

TEST(RowSource, RowsOfAnotherWidthHaveTheSameValues) {
  expect_values(reshaped_rows(counted(2, 3), 1), {0, 1, 2, 3, 4, 5});
  expect_values(reshaped_rows(counted(3, 2), 3), {0, 1, 2, 3, 4, 5});
}

TEST(RowSource, ValuesAreRoundedToTheType) {
  const MatrixRows rows = rows_in_type(rows_in_type(given_rows({1.0f, 1.00390625f}, 2), TypeId::kBF16), TypeId::kF32);
  expect_values(rows, {1.0f, 1.0f});
}

TEST(Weave, PartsComeOutOfAWholeAsTheyWentIn) {
  const Weave weave{.n_mats = 2, .runs = {2, 1, 1}, .n_pieces = {1, 2}};
  const std::vector<MatrixRows> parts{counted(4, 1), given_rows({10, 11, 12, 13}, 1)};
  const MatrixRows whole = woven(parts, weave);
  expect_values(whole, {0, 1, 10, 12, 2, 3, 11, 13});
  expect_values(unwoven(whole, weave, 0), {0, 1, 2, 3});
  expect_values(unwoven(whole, weave, 1), {10, 11, 12, 13});
}

}  // namespace
}  // namespace realizar
