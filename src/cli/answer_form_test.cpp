#include "cli/answer_form.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace realizar::cli {
namespace {

namespace fs = std::filesystem;

Result<std::optional<AnswerForm>> read_form(const std::string& option, const std::string& value) {
  CommandRow row;
  FormFlags form;
  form.add_to(Flags(&row));
  EXPECT_EQ(row.find(option)->read(value), "");
  EXPECT_TRUE(form.is_given());
  EXPECT_EQ(form.complaint(), "");
  return form.read();
}

class FormFile : public testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  std::string with(const std::string& text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return path_.string();
  }

  fs::path path_ = fs::temp_directory_path() / ("answer_form_test" + std::to_string(::getpid()));
};

TEST_F(FormFile, AndTextsAreRead) {
  const std::string schema = R"( {"type": "object"})", grammar = "root ::= \"yes\" | \"no\"";
  for (const std::string& given : {schema, with(schema)}) {
    const auto form = read_form("--schema", given);
    ASSERT_TRUE(form.ok()) << form.error().message;
    EXPECT_EQ((*form)->kind, AnswerForm::Kind::kSchema);
    EXPECT_EQ((*form)->source, schema);
  }
  for (const std::string& given : {grammar, with(grammar)}) {
    const auto form = read_form("--grammar", given);
    ASSERT_TRUE(form.ok()) << form.error().message;
    EXPECT_EQ((*form)->kind, AnswerForm::Kind::kGrammar);
    EXPECT_EQ((*form)->source, grammar);
  }
  EXPECT_EQ(*read_form("--format", "json"), json_form());
  EXPECT_EQ(*FormFlags().read(), std::nullopt);
}

TEST_F(FormFile, ThatIsWrongIsNamed) {
  const std::string path = with("");
  const struct {
    const char* option;
    std::string given, begin;
  } cases[] = {
      {"--schema", path, "--schema " + path + ": the file is empty"},
      {"--grammar", path, "--grammar " + path + ": the file is empty"},
      {"--schema", "", "--schema: the text is empty"},
      {"--grammar", " ", "--grammar: the text is empty"},
      {"--schema", "/no/such", "--schema: no such file: /no/such; expected a JSON Schema"},
      {"--grammar", "/no/such", "--grammar: no such file: /no/such; expected a grammar"},
      {"--schema", "{\"type\" 1}", "--schema, line 1, column 9: this is not JSON"},
      {"--schema", "{\"type\": 1}", "--schema: #"},
      {"--schema", "{\"$dynamicRef\": \"#a\"}", "--schema: #: keyword \"$dynamicRef\" is not supported"},
      {"--grammar", "root ::= other", "--grammar: "},
      {"--grammar", "root ::= \"a", "--grammar: line 1, column "},
  };
  for (const auto& c : cases) {
    const auto form = read_form(c.option, c.given);
    ASSERT_FALSE(form.ok()) << c.option << " " << c.given;
    EXPECT_TRUE(form.error().message.starts_with(c.begin)) << form.error().message;
  }
  EXPECT_TRUE(read_form("--schema", with("[1]")).error().message.ends_with("actual array"));
}

TEST(FormFlags, TakeOneOfThem) {
  CommandRow row;
  FormFlags form;
  form.add_to(Flags(&row));
  row.find("--format")->read("json");
  row.find("--grammar")->read("root ::= \"a\"");
  EXPECT_NE(form.complaint(), "");
}

}  // namespace
}  // namespace realizar::cli
