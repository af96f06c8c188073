// What tests ask of the library that stands for NCCL.
#pragma once

#include <string>
#include <vector>

namespace realizar::test {

using NcclLog = std::vector<std::string>;  // calls, in their order

}  // namespace realizar::test

extern "C" {
realizar::test::NcclLog* fake_nccl_log();
// Results that calls give from now on: of a gather, of what is under way, and of the second process that joins others.
void fake_nccl_fail(int of_gather, int of_stream, int of_join);
}
