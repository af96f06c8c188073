// Writes msgpack (github.com/msgpack/msgpack, spec.md): the shortest form of each value, appended to a text.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace realizar::server::msgpack {

inline void append_bytes(std::string& out, uint8_t tag, uint64_t value, int n_bytes) {
  out.push_back(static_cast<char>(tag));
  for (int i = n_bytes; i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
}

inline void append_nil(std::string& out) {
  out.push_back(static_cast<char>(0xc0));
}

inline void append_unsigned(std::string& out, uint64_t value) {
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
  } else if (value <= UINT8_MAX) {
    append_bytes(out, 0xcc, value, 1);
  } else if (value <= UINT16_MAX) {
    append_bytes(out, 0xcd, value, 2);
  } else if (value <= UINT32_MAX) {
    append_bytes(out, 0xce, value, 4);
  } else {
    append_bytes(out, 0xcf, value, 8);
  }
}

inline void append_number(std::string& out, double value) {
  append_bytes(out, 0xcb, std::bit_cast<uint64_t>(value), 8);
}

// At most 4 GB.
inline void append_text(std::string& out, std::string_view text) {
  if (text.size() < 32) {
    out.push_back(static_cast<char>(0xa0 | text.size()));
  } else if (text.size() <= UINT8_MAX) {
    append_bytes(out, 0xd9, text.size(), 1);
  } else if (text.size() <= UINT16_MAX) {
    append_bytes(out, 0xda, text.size(), 2);
  } else {
    append_bytes(out, 0xdb, text.size(), 4);
  }
  out += text;
}

// The items, or the pairs of keys and values, follow.
inline void begin_array(std::string& out, uint32_t n_items) {
  if (n_items < 16) {
    out.push_back(static_cast<char>(0x90 | n_items));
  } else if (n_items <= UINT16_MAX) {
    append_bytes(out, 0xdc, n_items, 2);
  } else {
    append_bytes(out, 0xdd, n_items, 4);
  }
}

inline void begin_map(std::string& out, uint32_t n_pairs) {
  if (n_pairs < 16) {
    out.push_back(static_cast<char>(0x80 | n_pairs));
  } else {
    append_bytes(out, 0xde, n_pairs, 2);
  }
}

}  // namespace realizar::server::msgpack
