// Element and block types of stored tensors, as the table of type_rows.h has them, for code that asks at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quant/type_rows.h"

namespace realizar {

struct TypeTraits {
  TypeId id;
  std::string_view name;  // "Q4_K"
  uint32_t block_elems;   // elements a block; 1 for plain types
  uint32_t block_bytes;   // bytes a block
  Layout layout;
  // src: n / block_elems blocks; dst: [n]. n is a multiple of block_elems.
  void (*decode)(const std::byte* src, float* dst, size_t n);
  // The inverse, nearest in the least-squares sense that the format's author describes; used to make test data.
  void (*encode)(const float* src, std::byte* dst, size_t n);
};

// The supported types, in the order of their numbers.
std::span<const TypeTraits> all_types();
// Precondition: `id` is one of the enumerators.
const TypeTraits& traits(TypeId id);
// Nothing for a number that is no supported GGUF type.
std::optional<TypeId> type_from_number(uint32_t ggml_type);
// The name of any ggml type number, known to GGUF or not, for messages: "IQ2_XXS", "type 77".
std::string type_name_for_message(uint32_t ggml_type);

constexpr bool is_in_gguf(TypeId id) {
  return id != TypeId::kF8_E4M3;
}

// Calls body(row) with the type's row, an object of its TypeRow. Precondition: `id` is one of the enumerators.
template <class Body>
constexpr void with_row(TypeId id, const Body& body) {
  const auto find = [&]<class... Rows>(TypeList<Rows...>) {
    static_cast<void>(((Rows::kId == id && (body(Rows{}), true)) || ...));
  };
  find(TypeRows{});
}

namespace type_tables {

// Each number of GGUF has a place of its own; the one type that GGUF lacks has the last.
inline constexpr uint32_t kPlaces = 64;
constexpr uint32_t place_of(TypeId id) {
  return is_in_gguf(id) ? static_cast<uint32_t>(id) : kPlaces - 1;
}
template <class... Rows>
constexpr std::array<uint8_t, kPlaces> make_rows(TypeList<Rows...>) {
  static_assert(((place_of(Rows::kId) < kPlaces) && ...));
  std::array<uint8_t, kPlaces> rows{};
  uint8_t row = 0;
  ((rows[place_of(Rows::kId)] = row++), ...);
  return rows;
}
template <class... Rows>
constexpr std::array<Layout, sizeof...(Rows)> make_layouts(TypeList<Rows...>) {
  return {Rows::kLayout...};
}
inline constexpr auto kRows = make_rows(TypeRows{});
inline constexpr auto kLayouts = make_layouts(TypeRows{});

}  // namespace type_tables

// The row's place among all. Products ask for it, so it is a look into a table.
constexpr size_t row_index(TypeId id) {
  return type_tables::kRows[type_tables::place_of(id)];
}

constexpr Layout layout_of(TypeId id) {
  return type_tables::kLayouts[row_index(id)];
}

constexpr GroupForm form_of(TypeId id) {
  GroupForm form{};
  with_row(id, [&](auto row) { form = row.kForm; });
  return form;
}

// Bytes of n elements; n must be a multiple of the block size.
constexpr size_t row_bytes(const TypeTraits& t, size_t n) {
  return n / t.block_elems * t.block_bytes;
}

}  // namespace realizar
