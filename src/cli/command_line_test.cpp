// The table of options, its parsers, and the texts made from it. The commands themselves are tested through the
// program, in tests/cli_test.py and tests/usage_test.py.
#include <gtest/gtest.h>

#include "cli/completion.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/parse.h"

namespace realizar::cli {
namespace {

using Words = std::vector<std::string>;

// A command with an option of every kind.
struct Rig {
  Rig() {
    row.name = "do";
    row.help = "Do it. And more";
    Flags flags(&row);
    flags.option("model,-m,--model", model, "Model", {.is_required = true, .takes = kFile});
    flags.option("texts", texts, "Texts");
    flags.option("-n,--count", count, "Count", {.range = {1, 10}, .has_default = true});
    flags.option("--share", share, "Share", {.range = {0, 1, true}});
    flags.option("--ids", ids, "Ids", {.separator = ','});
    flags.option("--stop", stops, "Stop");
    flags.option("--kind", kind, "Kind", {.one_of = {"fast", "slow"}});
    flags.flag("--json", json, "JSON");
    flags.advanced().flag("--rare", rare, "Rare");
    flags.for_gpu().flag("--on-gpu", on_gpu, "On a GPU");
    flags.runs([] { return 0; });
  }

  // The error message for the words; empty: none.
  std::string read(const Words& words) {
    const auto notes = collect_words(row, common, words);
    if (!notes.ok()) return notes.error().message;
    const Status status = apply_values(row, common);
    return status.ok() ? "" : status.error().message;
  }

  CommandRow row, common;
  std::string model, kind = "fast";
  Words texts, stops;
  uint32_t count = 3;
  std::optional<float> share;
  std::vector<uint32_t> ids = {7};
  bool json = false, rare = false, on_gpu = false;
};

TEST(Parse, AMarkOfTheByteOrderIsNoPartOfAValue) {
  Rig rig;
  EXPECT_EQ(rig.read({"m", "\xef\xbb\xbfone", "--stop", "\xef\xbb\xbfx", "--stop=\xef\xbb\xbfy", "-n",
                      "\xef\xbb\xbf"
                      "5"}),
            "");
  EXPECT_EQ(rig.texts, (Words{"one"}));
  EXPECT_EQ(rig.stops, (Words{"x", "y"}));
  EXPECT_EQ(rig.count, 5u);
}

TEST(Parse, ReadsEachKindOfValue) {
  Rig rig;
  EXPECT_EQ(
      rig.read({"m.gguf", "a", "-n4", "--share=0.5", "--ids", "1,2", "--stop", "x", "--stop", "-y", "--json", "b"}),
      "");
  EXPECT_EQ(rig.model, "m.gguf");
  EXPECT_EQ(rig.texts, (Words{"a", "b"}));
  EXPECT_EQ(rig.count, 4u);
  EXPECT_EQ(rig.share, 0.5f);
  EXPECT_EQ(rig.ids, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(rig.stops, (Words{"x", "-y"}));
  EXPECT_TRUE(rig.json);
}

TEST(Parse, APositionalMayBeNamedAndTheOthersMoveUp) {
  Rig rig;
  EXPECT_EQ(rig.read({"a", "-m", "m.gguf", "--", "--json", "-m"}), "");
  EXPECT_EQ(rig.model, "m.gguf");
  EXPECT_EQ(rig.texts, (Words{"a", "--json", "-m"}));
  EXPECT_FALSE(rig.json);
}

TEST(Parse, NegativeNumbersAndADashAreNoOptions) {
  Rig rig;
  EXPECT_EQ(rig.read({"m", "-1", "-.5", "-"}), "");
  EXPECT_EQ(rig.texts, (Words{"-1", "-.5", "-"}));
}

TEST(Parse, MessagesNameTheWordAndWhatItMustBe) {
  const std::pair<Words, const char*> cases[] = {
      {{}, "MODEL is missing"},
      {{"m", "--count", "0"}, "--count 0: must be from 1 to 10"},
      {{"m", "--count", "1e3"}, "--count 1e3: must be from 1 to 10"},
      {{"m", "--count", "2.5"}, "--count 2.5: must be a whole number"},
      {{"m", "--count", ""}, "--count '': must be a whole number"},
      {{"m", "--count", "99999999999"}, "--count 99999999999: must be from 1 to 10"},
      {{"m", "--ids", "-1"}, "--ids -1: must be a whole number from 0 to 4294967295"},
      {{"m", "--ids", "1,,2"}, "--ids 1,,2: '' must be a whole number"},
      {{"m", "--share", "0"}, "--share 0: must be above 0 and at most 1"},
      {{"m", "--share", "inf"}, "--share inf: must be above 0 and at most 1"},
      {{"m", "--share", "nan"}, "--share nan: must be a number"},
      {{"m", "--kind", "fats"}, "--kind fats: must be one of fast, slow; did you mean fast?"},
      {{"m", "--kind"}, "--kind needs a value: --kind TEXT"},
      {{"m", "--kind", "--json"},
       "--kind needs a value, and --json is an option; --kind=--json if it is meant as the value"},
      {{"m", "--kind", "fast", "--kind", "slow"}, "--kind is given twice, as fast and as slow"},
      {{"m", "--json=maybe"}, "--json maybe: must be true or false"},
      {{"m", "--jsno"}, "there is no option --jsno; did you mean --json?"},
      {{"m", "-json"}, "there is no option -json; did you mean --json?"},
      {{"m", "-model"}, "there is no option -model; did you mean --model?"},
      {{"m", "--zzzzzz"}, "there is no option --zzzzzz"},
  };
  for (const auto& [words, expected] : cases) EXPECT_EQ(Rig().read(words), expected);
}

TEST(Parse, ALimitedListRefusesAWordTooMany) {
  Rig rig;
  rig.row.options[1].max_values = 1;
  EXPECT_EQ(rig.read({"m", "a", "b"}),
            "'b' is one word too many: expected MODEL [TEXTS...] (quote a text of several words)");
}

TEST(Help, TextIsWrappedBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", 100, 2), "one two three");
  EXPECT_EQ(wrapped("unbreakable on", 5, 1), "unbreakable\n on");
  EXPECT_EQ(wrapped("", 5, 1), "");
  EXPECT_EQ(wrapped("one two", 10, 6, 6), "one\n      two");
}

TEST(Help, ShowsDefaultsAndHidesWhatIsRareOrForGpus) {
  const Rig rig;
  const std::string common = command_help(rig.row, rig.common, {80, false, false});
  EXPECT_TRUE(common.starts_with("Usage: realizar do MODEL [TEXTS...] [OPTIONS]\n\nDo it. And more.\n")) << common;
  EXPECT_NE(common.find("-n, --count N"), std::string::npos) << common;
  EXPECT_NE(common.find("Count (default: 3)"), std::string::npos) << common;
  EXPECT_NE(common.find("Kind: fast, slow"), std::string::npos) << common;
  EXPECT_EQ(common.find("--rare"), std::string::npos) << common;
  EXPECT_TRUE(common.ends_with("\nrealizar do --help-all lists all 8 options.\n")) << common;
  EXPECT_EQ(common.find("Every command"), std::string::npos) << common;
  const std::string all = command_help(rig.row, rig.common, {80, true, false});
  EXPECT_NE(all.find("--rare"), std::string::npos) << all;
  EXPECT_NE(all.find("--on-gpu"), std::string::npos) << all;
  EXPECT_EQ(common.find("--on-gpu"), std::string::npos);
  EXPECT_NE(command_help(rig.row, rig.common, {80, false, true}).find("--on-gpu"), std::string::npos);
}

TEST(Help, GroupsAndFurtherSentencesAreForThePageOfAll) {
  Rig rig;
  Flags flags = Flags(&rig.row).group("Special");
  std::string value;
  flags.option("--special", value, "First, e.g. 1.5. Second", {.one_of = {"a", "b"}, .shown_default = "a"});
  const std::string common = command_help(rig.row, rig.common, {80, false, false});
  EXPECT_NE(common.find("--special TEXT        First, e.g. 1.5: a, b (default: a)\n"), std::string::npos) << common;
  EXPECT_EQ(common.find("Special:"), std::string::npos) << common;
  const std::string all = command_help(rig.row, rig.common, {80, true, false});
  EXPECT_NE(all.find("\nSpecial:\n      --special TEXT        First, e.g. 1.5. Second: a, b (default: a)\n"),
            std::string::npos)
      << all;
}

TEST(Completion, OffersShortNamesAndJoinsWhatBashTakesApart) {
  CommandTable table;
  CommandRow& row = table.commands.emplace_back();
  row.name = "get";
  Words names;
  Flags(&row).option("names", names, "Names", {.takes = kShortName});
  const auto offered = [&](const Words& words) {
    Words found;
    for (const Candidate& candidate : complete(table, words, false)) found.push_back(candidate.word);
    return found;
  };
  EXPECT_EQ(offered({"get", "phi"}), (Words{"phi4", "phi4:14b"}));
  EXPECT_EQ(offered({"get", "x", "phi4", ":"}), Words{"phi4:14b"});
  EXPECT_EQ(offered({"get", "phi4", ":", "1"}), Words{"phi4:14b"});
  EXPECT_EQ(offered({"get", "no-such"}), Words{});
}

TEST(Config, WhatIsPrintedIsReadBack) {
  Rig rig, again;
  ASSERT_EQ(rig.read({"m", " a\nb ", "\"", "--ids", "1,2", "--stop", "#", "--json", "--share", "0.1"}), "");
  const std::string text = config_text(rig.row);
  ASSERT_TRUE(read_config(again.row, text, "f").ok()) << text;
  ASSERT_EQ(again.read({}), "");
  EXPECT_EQ(config_text(again.row), text);
  EXPECT_EQ(again.texts, (Words{" a\nb ", "\""}));
  EXPECT_EQ(again.share, 0.1f);
  EXPECT_TRUE(again.json);
}

TEST(Config, TheCommandLineGoesBeforeTheFileEvenForLists) {
  Rig rig;
  ASSERT_TRUE(collect_words(rig.row, rig.common, Words{"m", "--stop", "x"}).ok());
  ASSERT_TRUE(read_config(rig.row, "stop = y\r\nstop = z\r\ncount = 5", "f").ok());
  ASSERT_TRUE(apply_values(rig.row, rig.common).ok());
  EXPECT_EQ(rig.stops, Words{"x"});
  EXPECT_EQ(rig.count, 5u);
}

Words offered(const Words& words) {
  CommandTable table;
  CommandRow& row = table.commands.emplace_back();
  Rig rig;
  row = rig.row;
  Words found;
  for (const Candidate& candidate : complete(table, words, false)) found.push_back(candidate.word);
  return found;
}

TEST(Completion, OffersWhatMayStandThere) {
  EXPECT_EQ(offered({"d"}), Words{"do"});
  EXPECT_EQ(offered({"x"}), Words{});
  EXPECT_EQ(offered({"do", "--s"}), (Words{"--share", "--stop"}));
  EXPECT_EQ(offered({"do", "--on"}), Words{});
  EXPECT_EQ(offered({"do", "--kind", ""}), (Words{"fast", "slow"}));
  EXPECT_EQ(offered({"do", "--kind=s"}), Words{"slow"});
  EXPECT_EQ(offered({"do", "--kind", "=", "s"}), Words{"slow"});
  EXPECT_EQ(offered({"do", "--kind", "="}), (Words{"fast", "slow"}));
  EXPECT_EQ(offered({"do", ""}), Words{":file"});
  EXPECT_EQ(offered({"do", "--count", "3", ""}), Words{":file"});
  EXPECT_EQ(offered({"do", "m.gguf", ""}), Words{});
  EXPECT_EQ(offered({"nothing", ""}), Words{});
  EXPECT_EQ(offered({}), Words{});
}

}  // namespace
}  // namespace realizar::cli
