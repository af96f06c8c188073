// Writes the last rows of a model's numbers in the format of tests/data/conformance.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

// Row-major [n_rows, n_cols] in the format of NumPy.
inline void write_npy(const std::string& path, const std::vector<float>& values, int n_rows, int n_cols) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(n_rows) + ", " +
                       std::to_string(n_cols) + "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto n = static_cast<uint16_t>(header.size());
  std::ofstream out(path, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.write(reinterpret_cast<const char*>(&n), sizeof n);
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}
