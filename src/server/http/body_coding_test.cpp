#include "server/http/body_coding.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

namespace realizar::server {
namespace {

using End = DecodedBody::End;

constexpr int kGzip = MAX_WBITS + 16, kZlib = MAX_WBITS, kRaw = -MAX_WBITS;

std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 32, 0);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd_of(std::string_view text, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (window_log > 0) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  }
  std::string packed(ZSTD_compressBound(text.size()), 0);
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, window_log > 0 ? ZSTD_e_flush : ZSTD_e_end), 0u);
  if (window_log > 0) {
    EXPECT_EQ(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0u);
  }
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

DecodedBody decoded(std::string_view coded, BodyCoding coding, size_t max_bytes = 1u << 20) {
  BodyRoom::Share share;
  return decode_body(coded, coding, max_bytes, share);
}

struct Coded {
  BodyCoding coding;
  std::string bytes;
};
std::vector<Coded> all_codings(std::string_view text) {
  return {{BodyCoding::kIdentity, std::string(text)},
          {BodyCoding::kGzip, deflated(text, kGzip)},
          {BodyCoding::kDeflate, deflated(text, kZlib)},
          {BodyCoding::kDeflate, deflated(text, kRaw)},
          {BodyCoding::kZstd, zstd_of(text)}};
}

TEST(BodyCoding, KnowsTheNamesInAnyCase) {
  EXPECT_EQ(body_coding(""), BodyCoding::kIdentity);
  EXPECT_EQ(body_coding({}), BodyCoding::kIdentity) << "the header is absent";
  EXPECT_EQ(body_coding("Identity"), BodyCoding::kIdentity);
  EXPECT_EQ(body_coding("GZIP"), BodyCoding::kGzip);
  EXPECT_EQ(body_coding("x-gzip"), BodyCoding::kGzip);
  EXPECT_EQ(body_coding("deflate"), BodyCoding::kDeflate);
  EXPECT_EQ(body_coding("zstd"), BodyCoding::kZstd);
  for (const char* other : {"br", "gzip, gzip", "gzip ", "compress"})
    EXPECT_EQ(body_coding(other), std::nullopt) << other;
}

TEST(BodyCoding, GivesBackWhatWasCoded) {
  for (const size_t n : {0u, 1u, 16'383u, 16'384u, 16'385u, 300'000u}) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += static_cast<char>('a' + i % 7 * (i % 11) % 26);
    for (const Coded& coded : all_codings(text)) {
      const DecodedBody body = decoded(coded.bytes, coded.coding);
      EXPECT_EQ(body.end, End::kWhole) << n;
      EXPECT_EQ(body.bytes, text) << n;
    }
  }
}

TEST(BodyCoding, SeveralMembersAreOneBody) {
  EXPECT_EQ(decoded(deflated("one ", kGzip) + deflated("two", kGzip), BodyCoding::kGzip).bytes, "one two");
  EXPECT_EQ(decoded(zstd_of("one ") + zstd_of("two"), BodyCoding::kZstd).bytes, "one two");
}

TEST(BodyCoding, WhatIsCutOffOrLongerIsBroken) {
  const std::string text(1000, 'x');
  for (const Coded& coded : all_codings(text)) {
    if (coded.coding == BodyCoding::kIdentity) continue;
    for (size_t n = 0; n < coded.bytes.size(); ++n) {
      EXPECT_EQ(decoded(coded.bytes.substr(0, n), coded.coding).end, End::kBroken) << n;
    }
    EXPECT_EQ(decoded(coded.bytes + "more", coded.coding).end, End::kBroken);
  }
}

TEST(BodyCoding, ABombIsTooLargeBeforeItsMemoryIsTaken) {
  const std::string zeros(32u << 20, '\0');
  for (const Coded& coded : all_codings(zeros)) {
    if (coded.coding == BodyCoding::kIdentity) continue;
    ASSERT_LT(coded.bytes.size(), 64u << 10);
    const DecodedBody body = decoded(coded.bytes, coded.coding, 100'000);
    EXPECT_EQ(body.end, End::kTooLarge);
    EXPECT_EQ(body.bytes.capacity(), std::string().capacity());
  }
  const std::string exact(100'000, 'x');
  for (const Coded& coded : all_codings(exact)) {
    EXPECT_EQ(decoded(coded.bytes, coded.coding, 100'000).end, End::kWhole);
    EXPECT_EQ(decoded(coded.bytes, coded.coding, 99'999).end, End::kTooLarge);
  }
}

TEST(BodyCoding, DecodedBytesTakeRoom) {
  const std::string text(BodyRoom::kFreeBytes + 50'000, 'x');
  for (const Coded& coded : all_codings(text)) {
    const size_t n_bytes = coded.bytes.size() + text.size() - BodyRoom::kFreeBytes;
    const auto room = std::make_shared<BodyRoom>(n_bytes, n_bytes);
    {
      BodyRoom::Share share(room, "a");
      EXPECT_EQ(decode_body(coded.bytes, coded.coding, 1u << 20, share).end, End::kWhole);
      EXPECT_EQ(room->n_held_bytes(), n_bytes);
    }
    const auto narrow = std::make_shared<BodyRoom>(n_bytes - 1, n_bytes);
    BodyRoom::Share share(narrow, "a");
    EXPECT_EQ(decode_body(coded.bytes, coded.coding, 1u << 20, share).end, End::kNoRoom);
  }
}

TEST(BodyCoding, AWindowThatWouldTakeTooMuchIsRefused) {
  const std::string text = "small";
  EXPECT_EQ(decoded(zstd_of(text, 23), BodyCoding::kZstd).end, End::kWhole);
  EXPECT_EQ(decoded(zstd_of(text, 24), BodyCoding::kZstd).end, End::kBroken);
}

TEST(BodyCoding, MutatedBytesEndWithinBounds) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * i);
  std::mt19937 random(1);
  for (const Coded& coded : all_codings(text)) {
    for (int round = 0; round < 2000; ++round) {
      std::string bytes = coded.bytes;
      for (size_t i = 0; i < 1 + random() % 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      const DecodedBody body = decoded(bytes, coded.coding, 50'000);
      EXPECT_LE(body.bytes.size(), 50'000u);
      EXPECT_TRUE(body.end == End::kWhole || body.bytes.empty());
    }
  }
}

}  // namespace
}  // namespace realizar::server
