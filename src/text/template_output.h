// Determines how a model writes calls and thoughts from its chat template: the template's rendering of earlier calls is
// what the model was trained to write.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/output/output_format.h"
#include "text/template_traits.h"

namespace realizar::text {

class ChatTemplate;

// Renders a few conversations with calls and takes the marks from the positions of their words. `source`: the
// template's; marks of thoughts, and forms that templates do not print (output/formats), are recognized by its content.
// Without any form of calls, the general one.
OutputFormat ask_output(const ChatTemplate& chat_template, const TemplateTraits& traits, std::string_view source);

// The format as names and values, for display: "written_call" is a call of NAME with KEY: "VALUE" in the model's form,
// and "written_calls" two of them, both as JSON strings.
std::vector<std::pair<std::string, std::string>> listed(const OutputFormat& format);

}  // namespace realizar::text
