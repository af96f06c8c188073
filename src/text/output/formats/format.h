// What one format is: how a template shows it, how its calls are told from text, read and required. One constant a
// format, each in its own file of this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/output/call_families.h"
#include "text/output/output_format.h"

namespace realizar::text {

struct ToolMarkers {
  std::vector<std::string> opening = {};  // begins a section of calls and is read before them
  std::vector<std::string> leading =
      {};  // begins a section too, and is the first part of what the section's reader reads
  std::vector<std::string> inner = {};  // stands only inside a section, or ends it
  // Plain text that does as `leading` does, but only before the answer's first word.
  std::vector<std::string> bare = {};
};

// What stands around each argument, where arguments are written one by one.
struct ArgumentTags {
  std::string key_open, key_close, value_close;
};

// How required calls are spelled: first CALL (between CALL)* last, where CALL is open NAME name_end ARGUMENTS close.
struct CallSpelling {
  std::string open, name_end, close;
  std::string first = {}, between = {}, last = {};
  std::optional<ArgumentTags> argument_tags = {};  // absent: the arguments are a JSON object
  bool is_single = false;                          // an answer has one call at most
};

// Headers of messages name the channel: what is reasoning, what is the answer, what is a call.
struct Channels {
  std::string_view reasoning_header;  // a prompt that ends with it leaves the reasoning open
  std::string_view answer_header;     // comes before the answer itself
  std::string_view reasoning_name;    // the channel's, which its header holds
  std::string_view next_channel;      // ends a message and begins the next one's header, up to the channel's name
  std::vector<std::string> ends;      // of messages
};

struct FormatSpec {
  ToolFormat format;
  std::vector<std::string_view> signs;  // a template whose source contains one of them is of this format
  ToolMarkers markers;
  CallReaderPtr (*make_reader)(TextWindow& window, CallEmitter& emitter);
  std::optional<CallSpelling> required = {};  // absent: required calls are not built
  std::optional<Channels> channels = {};
};

// All, in the order in which a template is searched for their signs: what is particular stands before what others
// contain too.
std::span<const FormatSpec* const> all_formats();
// Null for kNone.
const FormatSpec* spec_of(ToolFormat format);

const FormatSpec& cohere_format();
const FormatSpec& deepseek_format();
const FormatSpec& gemma_format();
const FormatSpec& glm_format();
const FormatSpec& gpt_oss_format();
const FormatSpec& granite_format();
const FormatSpec& hermes_format();
const FormatSpec& kimi_format();
const FormatSpec& lfm2_format();
const FormatSpec& llama3_json_format();
const FormatSpec& mistral_format();
const FormatSpec& qwen3_coder_format();

}  // namespace realizar::text
