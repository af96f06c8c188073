#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace realizar {
namespace {

std::filesystem::path write_file(const std::string& name, const std::string& content) {
  const auto path = std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(MappedFile, GivesTheBytesOfTheFileAlsoAfterRelease) {
  const std::string content(100000, 'x');
  const auto path = write_file("rz_mapped", content);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  file->release(file->bytes());
  ASSERT_EQ(file->bytes().size(), content.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), content);
  std::filesystem::remove(path);
}

TEST(MappedFile, RefusesWhatIsNotThereAndWhatIsNoFile) {
  EXPECT_EQ(MappedFile::open("/nonexistent/file").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(MappedFile::open(std::filesystem::temp_directory_path()).error().code, ErrorCode::kInvalidArgument);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  const auto path = write_file("rz_empty", "");
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace realizar
