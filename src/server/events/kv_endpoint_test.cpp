#include "server/events/kv_endpoint.h"

#include <gtest/gtest.h>

#include "server/events/zmq_library.h"

namespace realizar::server {
namespace {

TEST(KvEndpoint, BindsByVllmsRule) {
  for (const char* address :
       {"tcp://*:5557", "tcp://*:*", "tcp://*:0", "tcp://[::]:5557", "tcp://[::1]:1", "ipc:///run/x"}) {
    const auto endpoint = read_kv_endpoint(address, "--kv-events", false);
    ASSERT_TRUE(endpoint.ok()) << address;
    EXPECT_TRUE(endpoint->binds) << address;
  }
  for (const char* address : {"tcp://router:5557", "tcp://127.0.0.1:65535"}) {
    const auto endpoint = read_kv_endpoint(address, "--kv-events", false);
    ASSERT_TRUE(endpoint.ok()) << address;
    EXPECT_FALSE(endpoint->binds) << address;
    EXPECT_TRUE(read_kv_endpoint(address, "--kv-events-replay", true)->binds);
  }
}

TEST(KvEndpoint, AWrongOneIsRefusedWithWhatWasExpected) {
  for (const char* address :
       {"", "5557", "*:5557", "tcp://", "tcp://:5557", "tcp://*", "tcp://*:", "tcp://*:x", "tcp://*:65536",
        "tcp://*:-1", "tcp://router:0", "inproc://x", "http://x:1", "ipc://", "tcp://*:5557/x"}) {
    const auto endpoint = read_kv_endpoint(address, "--kv-events", false);
    ASSERT_FALSE(endpoint.ok()) << address;
    EXPECT_TRUE(endpoint.error().message.starts_with("--kv-events '" + std::string(address) + "': expected"))
        << address;
  }
  EXPECT_FALSE(read_kv_endpoint("ipc://" + std::string(108, 'x'), "--kv-events", false).ok());
  EXPECT_TRUE(read_kv_endpoint("ipc://" + std::string(107, 'x'), "--kv-events", false).ok());
}

TEST(ZmqLibrary, WithoutItThePackageIsNamed) {
  const auto missing = Zmq::open("libzmq-of-no-machine.so.5");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("libzmq5"), std::string::npos);
  const auto other = Zmq::open("libc.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("is not ZeroMQ's"), std::string::npos);
}

}  // namespace
}  // namespace realizar::server
