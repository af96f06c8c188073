// Access to the table of type_rows.h by a type's number: its row, and lookups for products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quant/type_rows.h"

namespace realizar {

// Calls body(row) with the type's row, an object of its TypeRow. Precondition: `id` is a valid enumerator.
template <class Body>
constexpr void with_row(TypeId id, const Body& body) {
  const auto find = [&]<class... Rows>(TypeList<Rows...>) {
    static_cast<void>(((Rows::kId == id && (body(Rows{}), true)) || ...));
  };
  find(TypeRows{});
}

namespace type_tables {

// Each of GGUF's numbers has its own slot; the type that GGUF does not have gets the last one.
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

// The row's index among all. Products need it, so it is a table lookup.
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

}  // namespace realizar
