#include "server/call/background.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

constexpr uint64_t kOwner = 1, kStranger = 2;

std::string events_of(const BackgroundRecord& record, size_t first) {
  std::string events;
  for (size_t next = first; next < record.n_events();) {
    const size_t from = next;
    events += record.events_from(from, next);
  }
  return events;
}

TEST(BackgroundRecord, GivesItsEventsFromAnyOn) {
  BackgroundRecords records(1000, 1000);
  const BackgroundRecordPtr record = records.add(kOwner, "a");
  record->write("data: 0\n\ndata: 1\n\n");
  record->write(": ping\n\n");
  record->write("data: 2\n\n");
  EXPECT_EQ(record->n_events(), 3u);
  EXPECT_EQ(events_of(*record, 0), "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(events_of(*record, 2), "data: 2\n\n");
  EXPECT_EQ(events_of(*record, 3), "");
  EXPECT_EQ(events_of(*record, 99), "");
  EXPECT_FALSE(record->is_over());
  record->end();
  EXPECT_TRUE(record->is_over());
  EXPECT_EQ(records.find(kOwner, "a"), record);
  EXPECT_EQ(records.find(kStranger, "a"), nullptr);
}

TEST(BackgroundRecord, AnEventMayComeInPieces) {
  BackgroundRecords records(1000, 1000);
  const BackgroundRecordPtr record = records.add(kOwner, "a");
  for (const char* piece : {"data: 0", ": 1\n", "\ndata", ": 2\n\n", ": ping\n\n"}) record->write(piece);
  EXPECT_EQ(record->n_events(), 2u);
  EXPECT_EQ(events_of(*record, 0), "data: 0: 1\n\ndata: 2\n\n");
}

TEST(BackgroundRecord, KeepsAReplyThatIsNoStreamAsItsRefusal) {
  BackgroundRecords records(1000, 1000);
  const BackgroundRecordPtr record = records.add(kOwner, "a");
  record->send({429, "application/json", "{}", {}});
  ASSERT_TRUE(record->refusal());
  EXPECT_EQ(record->refusal()->status, 429);
  EXPECT_TRUE(record->is_over());
}

TEST(BackgroundRecords, ForgetThoseThatEndedLongestAgo) {
  BackgroundRecords records(30, 20);
  const std::string event = "12345678\n\n";
  const auto ended = [&](uint64_t tenant, const std::string& id) {
    const BackgroundRecordPtr record = records.add(tenant, id);
    record->write(event);
    record->end();
    return record;
  };
  const BackgroundRecordPtr first = ended(kOwner, "a");
  ended(kOwner, "b");
  ended(kOwner, "c");  // her share is two
  EXPECT_TRUE(first->is_forgotten());
  EXPECT_EQ(records.find(kOwner, "a"), nullptr);
  ended(kStranger, "d");
  ended(kStranger, "e");  // three in all
  EXPECT_EQ(records.find(kOwner, "b"), nullptr);
  EXPECT_NE(records.find(kOwner, "c"), nullptr);
  EXPECT_NE(records.find(kStranger, "d"), nullptr);
}

TEST(BackgroundRecords, ARunningOneWithoutRoomLosesItsEventsAlone) {
  BackgroundRecords records(100, 25);
  const BackgroundRecordPtr record = records.add(kOwner, "a");
  for (int i = 0; i < 3; ++i) record->write("12345678\n\n");
  EXPECT_TRUE(record->is_forgotten());
  EXPECT_EQ(record->n_events(), 0u);
  EXPECT_FALSE(record->is_over());
  records.erase(kOwner, "a");
  const BackgroundRecordPtr next = records.add(kOwner, "b");
  for (int i = 0; i < 2; ++i) next->write("12345678\n\n");
  EXPECT_EQ(next->n_events(), 2u);
}

}  // namespace
}  // namespace realizar::server
