// How a model writes calls and thoughts, read from its chat template: what the template prints of earlier calls is what
// the model was trained to write.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/output/output_format.h"
#include "text/template_traits.h"

namespace realizar::text {

class ChatTemplate;

// Renders a few conversations with calls and takes the marks from where their words stand. `source` is the template's:
// thoughts' marks, and the forms that templates do not print (output/formats), are told by what it contains. Without
// any form of calls the general one.
OutputFormat ask_output(const ChatTemplate& chat_template, const TemplateTraits& traits, std::string_view source);

// The format as names and values, for people and programs to read: "written_call" is a call of NAME with KEY: "VALUE"
// as the model writes it, and "written_calls" two of them, both as JSON strings.
std::vector<std::pair<std::string, std::string>> told(const OutputFormat& format);

}  // namespace realizar::text
