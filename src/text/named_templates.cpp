#include "text/named_templates.h"

#include <algorithm>
#include <iterator>

namespace realizar::text {
namespace {

struct NamedTemplate {
  std::string_view name, source;
};

constexpr NamedTemplate kTemplates[] = {
    {"chatml", R"({%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%})"},
    {"command-r", R"({{- bos_token -}}
{%- set marks = {'system': '<|SYSTEM_TOKEN|>', 'user': '<|USER_TOKEN|>', 'assistant': '<|CHATBOT_TOKEN|>'} -%}
{%- for message in messages -%}
{{- '<|START_OF_TURN_TOKEN|>' + marks[message['role']] + message['content'] | trim + '<|END_OF_TURN_TOKEN|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' -}}{%- endif -%})"},
    {"gemma", R"({{- bos_token -}}
{%- set begin = namespace(text='') -%}
{%- for message in messages -%}
{%- if message['role'] == 'system' -%}
{%- set begin.text = message['content'] | trim + '\n\n' -%}
{%- else -%}
{{- '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\n' -}}
{{- begin.text + message['content'] | trim + '<end_of_turn>\n' -}}
{%- set begin.text = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<start_of_turn>model\n' -}}{%- endif -%})"},
    {"llama3", R"({{- bos_token -}}
{%- for message in messages -%}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' -}}{%- endif -%})"},
    {"phi3", R"({%- for message in messages -%}
{{- '<|' + message['role'] + '|>\n' + message['content'] + '<|end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%})"},
    {"zephyr", R"({%- for message in messages -%}
{{- '<|' + message['role'] + '|>\n' + message['content'] + '<|endoftext|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|assistant|>\n' -}}{%- endif -%})"},
};

}  // namespace

std::optional<std::string_view> find_named_template(std::string_view name) {
  const auto* found = std::ranges::find(kTemplates, name, &NamedTemplate::name);
  return found == std::end(kTemplates) ? std::nullopt : std::optional(found->source);
}

std::string template_names() {
  std::string names;
  for (const NamedTemplate& named : kTemplates) names += (names.empty() ? "" : ", ") + std::string(named.name);
  return names;
}

}  // namespace realizar::text
