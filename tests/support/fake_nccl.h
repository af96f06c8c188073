// The tests' control of the library that replaces NCCL.
#pragma once

#include <string>
#include <vector>

namespace realizar::test {

using NcclLog = std::vector<std::string>;  // calls, in their order

}  // namespace realizar::test

extern "C" {
realizar::test::NcclLog* fake_nccl_log();
// Sets the results of later calls: of a gather, of running operations, and of the second process that joins others.
void fake_nccl_fail(int of_gather, int of_stream, int of_join);
}
