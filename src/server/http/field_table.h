// Tables of the fields of request bodies: a row has a field's name and its reader. Error messages and the list of known
// fields take the names from here too.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/try.h"
#include "server/http/json.h"

namespace realizar::server {

template <class T>
struct Field {
  const char* name;
  // Called if the body has the field and it is not null.
  Status (*read)(Fields& body, const char* name, T& into);
};

// Reads the fields of a table from the body, in the table's order, up to the first error.
template <class T, size_t n>
Status read_fields(const Field<T> (&table)[n], Fields& body, std::type_identity_t<T>& into) {
  for (const Field<T>& field : table) {
    if (body.any(field.name) != nullptr) RZ_CHECK_OK(field.read(body, field.name, into));
  }
  return body.status();
}

// A row's reader where `read` fills a base of the table's type.
template <auto read>
constexpr auto by = [](Fields& body, const char* name, auto& into) -> Status { return read(body, name, into); };

// Readers of a list, and of an object with fields of its own.
template <auto read>
constexpr auto of_list = [](Fields& body, const char* name, auto& into) -> Status {
  const Json* list = body.array(name);
  return list == nullptr ? body.status() : read(*list, name, into);
};
template <auto read>
constexpr auto of_object = [](Fields& body, const char* name, auto& into) -> Status {
  const Json* object = body.object(name);
  if (object == nullptr) return body.status();
  Fields fields(*object, std::string(name) + ".");
  RZ_CHECK_OK(read(fields, into));
  return fields.status();
};

// Ignores an object's fields, which have no effect.
constexpr auto take_nothing = [](Fields&, auto&) -> Status { return {}; };

// A row's reader for a field that is read before or after the others.
constexpr auto apart = [](Fields&, const char*, auto&) -> Status { return {}; };

// Readers of plain members. `path`: pointers to members, from the table's type inwards.
template <auto... path>
constexpr auto take_flag = [](Fields& body, const char* name, auto& into) -> Status {
  if (const auto value = body.boolean(name)) (into.*....*path) = *value;
  return body.status();
};
template <auto... path>
constexpr auto take_string = [](Fields& body, const char* name, auto& into) -> Status {
  if (auto value = body.text(name)) (into.*....*path) = std::move(*value);
  return body.status();
};
template <int64_t least, int64_t most, auto... path>
constexpr auto take_whole = [](Fields& body, const char* name, auto& into) -> Status {
  auto& member = (into.*....*path);
  if (const auto value = body.integer(name, least, most)) member = static_cast<std::decay_t<decltype(member)>>(*value);
  return body.status();
};

struct KnownField {
  std::string_view name;
  bool has_effect;
};
using KnownFields = std::vector<KnownField>;

inline KnownField as_known(const KnownField& field) {
  return field;
}
inline KnownField as_known(const char* read_apart) {
  return {read_apart, true};
}
template <class T>
KnownField as_known(const Field<T>& field) {
  return {field.name, true};
}

// Fields that clients of other servers send, and that have no effect here.
template <class... Name>
KnownFields without_effect(const Name*... names) {
  return {{names, false}...};
}

// The fields of several tables and lists, and of functions that return some.
template <class... Parts>
KnownFields known_in(const Parts&... parts) {
  KnownFields all;
  const auto add = [&all](const auto& part) {
    if constexpr (requires { part(); }) {
      for (const KnownField& field : part()) all.push_back(field);
    } else {
      for (const auto& field : part) all.push_back(as_known(field));
    }
  };
  (add(parts), ...);
  return all;
}

// That list as a function, for protocols.
template <const auto&... parts>
KnownFields fields_of() {
  return known_in(parts...);
}

}  // namespace realizar::server
