#include "formats/chat_templates.h"

#include <gtest/gtest.h>

#include "base/result_checks.h"
#include "base/temp_folder.h"

namespace realizar {
namespace {

class TemplateFolder : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view content) const { root_.put(name, content); }

  // "name=source@where", in order.
  std::vector<std::string> read(const std::optional<std::string>& config = std::nullopt) const {
    const auto templates = must(folder_templates(root_, config));
    std::vector<std::string> texts;
    for (const NamedTemplate& one : templates) texts.push_back(one.name + "=" + one.source + "@" + one.where);
    return texts;
  }

  TempFolder root_;
};

TEST_F(TemplateFolder, AListHasNamedOnes) {
  const std::string config =
      R"({"chat_template":[{"name":"default","template":"D"},{"name":"tool_use","template":"T"},{"name":3}]})";
  EXPECT_EQ(read(config), (std::vector<std::string>{"default=D@tokenizer_config.json: chat_template[default]",
                                                    "tool_use=T@tokenizer_config.json: chat_template[tool_use]"}));
}

TEST_F(TemplateFolder, FilesOfTheirOwnGoBeforeTheTokenizersConfig) {
  put("chat_template.jinja", "D");
  put("additional_chat_templates/tool_use.jinja", "T");
  put("additional_chat_templates/rag.jinja", "R");
  put("additional_chat_templates/notes.txt", "N");
  EXPECT_EQ(read(R"({"chat_template":"other"})"),
            (std::vector<std::string>{"default=D@chat_template.jinja", "rag=R@additional_chat_templates/rag.jinja",
                                      "tool_use=T@additional_chat_templates/tool_use.jinja"}));
}

TEST_F(TemplateFolder, AProcessorsFileIsReadToo) {
  put("chat_template.json", R"({"chat_template":"P"})");
  EXPECT_EQ(read(), (std::vector<std::string>{"default=P@chat_template.json: chat_template"}));
  EXPECT_EQ(read(R"({"chat_template":"D"})"),
            (std::vector<std::string>{"default=D@tokenizer_config.json: chat_template"}));
  put("chat_template.json", "[");
  EXPECT_FALSE(folder_templates(root_, std::nullopt).ok());
}

TEST(ChatTemplates, GgufHasAKeyForEachName) {
  Metadata metadata;
  metadata.set("tokenizer.chat_template", std::string("D"));
  metadata.set("tokenizer.chat_template.tool_use", std::string("T"));
  metadata.set("tokenizer.chat_templates", MetaArray(std::vector<std::string_view>{"tool_use"}));
  const ChatTemplates templates = gguf_templates(metadata);
  ASSERT_EQ(templates.size(), 2u);
  EXPECT_EQ(templates[0].name, kDefaultTemplate);
  ASSERT_NE(find_template(templates, kToolTemplate), nullptr);
  EXPECT_EQ(find_template(templates, kToolTemplate)->source, "T");
  EXPECT_EQ(find_template(templates, "rag"), nullptr);
}

TEST(ChatTemplates, ANameOfAFileIsPlain) {
  EXPECT_TRUE(is_plain_template_name("tool_use"));
  for (const char* name : {"", "../x", "a/b", ".hidden", "a b"}) EXPECT_FALSE(is_plain_template_name(name)) << name;
}

}  // namespace
}  // namespace realizar
