// Call formats defined by hand: of models whose output differs from how their templates print earlier calls, or whose
// templates print none. Each has its own file, which gives the reason.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/output/call_reader.h"
#include "text/output/output_format.h"

namespace realizar::text {

struct KnownFormat {
  std::string_view name;
  std::vector<std::string_view> signs;  // a template whose source contains one of them has this format
  bool is_printed;  // the template prints calls in a form other than the model's, so this one takes precedence
  OutputFormat format;
};

// In the order in which a template's source is searched: specific signs come before those that other templates contain
// too.
std::span<const KnownFormat> known_formats();

// JSON with a name and arguments, in the marks that most models were trained on: used if a template shows no form.
const OutputFormat& general_format();

const KnownFormat& functionary_format();
const KnownFormat& glm4_format();
const KnownFormat& gpt_oss_format();
const KnownFormat& granite_format();
const KnownFormat& hermes_format();
const KnownFormat& internlm_format();
const KnownFormat& kimi_format();
const KnownFormat& lfm2_format();
const KnownFormat& llama3_json_format();
const KnownFormat& llama_list_format();
const KnownFormat& phi4_format();
const KnownFormat& xlam_format();

// gpt-oss: a call is a message.
CallReaderPtr make_message_reader(TextWindow& window, CallEmitter& emitter);

}  // namespace realizar::text
