#include "quant/groups.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "quant/half.h"
#include "quant/type_table.h"
#include "quant/types.h"

namespace realizar {
namespace {

// The value of a group's code according to the form.
float value_by_form(const GroupForm& form, const Group& group, int i) {
  const int sub = i / form.sub;
  float scale = form.scales == Scales::kBf16 ? bf16_to_float(group.d) : fp16_to_float(group.d);
  float min = -fp16_to_float(group.m);
  if (form.scales == Scales::kE4M3) scale = f8_e4m3_to_float(group.scale[sub]);
  if (form.scales == Scales::kSuper) {
    scale *=
        form.has_min ? static_cast<float>(group.scale[sub]) : static_cast<float>(static_cast<int8_t>(group.scale[sub]));
    min = fp16_to_float(group.m) * static_cast<float>(group.min[sub]);
  }
  int code = group.codes[i];
  if (form.codes == Codes::kPlain) {
    code -= form.offset;
  } else {
    code = levels_of(form.codes).level[code];
  }
  const float value = scale / static_cast<float>(form.divisor) * static_cast<float>(code);
  return form.has_min ? value - min : value;
}

template <class Row>
void expect_groups_decode_as_blocks() {
  const TypeTraits& type = traits(Row::kId);
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 0.5f);
  std::vector<float> values(1024), decoded(1024);
  for (float& value : values) value = normal(random);
  std::vector<std::byte> blocks(row_bytes(type, values.size()));
  type.encode(values.data(), blocks.data(), values.size());
  type.decode(blocks.data(), decoded.data(), values.size());
  constexpr uint32_t kGroups = Row::kElems / 32;
  for (uint32_t g = 0; g < 1024 / 32; ++g) {
    const Group group = read_group(block_of<Row>(blocks.data(), g / kGroups), static_cast<int>(g % kGroups));
    for (int i = 0; i < 32; ++i) {
      ASSERT_EQ(value_by_form(Row::kForm, group, i), decoded[32 * g + static_cast<uint32_t>(i)])
          << type.name << " group " << g << " element " << i;
      if (Row::kForm.codes == Codes::kPlain) {
        ASSERT_LE(group.codes[i], Row::kForm.max_code) << type.name;
      } else {
        ASSERT_GE(levels_of(Row::kForm.codes).level[group.codes[i]], -Row::kForm.offset) << type.name;
      }
    }
  }
}

TEST(Groups, MeanWhatTheirBlocksMean) {
  for (const TypeTraits& type : all_types()) {
    with_row(type.id, []<class Row>(Row) {
      if constexpr (Row::kLayout == Layout::kGroups) expect_groups_decode_as_blocks<Row>();
    });
  }
}

// With the offset added they are unsigned codes, none of which exceeds max_code.
TEST(Groups, LevelsFitTheirForm) {
  for (const TypeTraits& type : all_types()) {
    const GroupForm form = form_of(type.id);
    if (form.codes == Codes::kPlain) continue;
    for (int i = 0; i < 1 << (form.low + form.high); ++i) {
      const int raised = levels_of(form.codes).level[i] + form.offset;
      EXPECT_GE(raised, 0) << type.name;
      EXPECT_LE(raised, form.max_code) << type.name;
    }
  }
}

}  // namespace
}  // namespace realizar
