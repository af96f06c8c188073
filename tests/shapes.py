"""Popular models in small form, from their makers' headers and configs: their settings, and the expected results.
`docs/conformance.md` has the table of them that `shapes_test.py --table` prints."""
import base64
import dataclasses

from small_model import (CONTROL, NORMAL, UNUSED, USER_DEFINED, Vocabulary, added_token, byte_letters, sentencepiece_model,
                         tokenizer_json, with_bos, write_folder, write_gguf)

PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
TEXTS = ["", "th !\"x\n", "\ta  b\u0142\u4e2d\U0001f642"]  # no vocabulary may lose a byte of these
TOOLS = "{% for t in tools %}{{ t.function.name }};{% endfor %}" + PLAIN
PHI3 = {"lstrip": False, "rstrip": True}


@dataclasses.dataclass
class Shape:
    name: str
    kind: str  # of its vocabulary: gpt2, llama or tekken
    specials: list  # [(text, type)] after the letters and bytes
    says: object  # metadata of a GGUF file, or files of a folder, or a function of the vocabulary that returns either
    ends: list  # tokens at which an answer ends
    goes_on: list = dataclasses.field(default_factory=list)  # tokens at which it does not end
    bos: str = None  # before every text
    eos: str = None  # after every text
    templates: dict = dataclasses.field(default_factory=dict)  # "plain" and "tools": the rendered text of a U and a
                                                               # tool f
    told: list = dataclasses.field(default_factory=list)  # words in the messages of loading or converting
    is_folder: bool = False
    where: str = ""  # a description of the settings, for the table

    def vocabulary(self):
        return TekkenVocabulary(self.specials) if self.kind == "tekken" else Vocabulary(self.kind, self.specials)

    def questions(self):
        """The letter after which the model gives each of the tested tokens: none if a text does not end with its last
        letter."""
        return {} if self.eos else dict(zip("ABCDEFGHIJKLMNOPQRS", self.ends + self.goes_on))

    def write(self, path):
        """Writes the file or the folder, and returns its path."""
        says = self.says(self.vocabulary()) if callable(self.says) else self.says
        if self.is_folder:
            return write_folder(path, self.vocabulary(), self.questions(), says)
        return write_gguf(path.with_suffix(".gguf"), self.vocabulary(), self.questions(), says)


def ids(**named):
    """Metadata with a token's id under each key of tokenizer.ggml; a list means several."""
    def says(vocabulary):
        def id_of(text):
            return [vocabulary.id(t) for t in text] if isinstance(text, list) else vocabulary.id(text)
        return {f"tokenizer.ggml.{key}": value if isinstance(value, bool) else id_of(value) for key, value in named.items()}
    return says


def both(*parts):
    def says(vocabulary):
        together = {}
        for part in parts:
            together |= part(vocabulary) if callable(part) else part
        return together
    return says


def controls(*texts):
    return [(text, CONTROL) for text in texts]


LLAMA2 = [("</s>", CONTROL)]
GEMMA = [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL)]
LLAMA3 = controls("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>")
CHATML = controls("<|endoftext|>", "<|im_start|>", "<|im_end|>")
FIM = controls("<fim_prefix>", "<fim_middle>", "<fim_suffix>")

GGUF_SHAPES = [
    Shape("Phi-3 mini, Microsoft's file", "llama",
          [("<|endoftext|>", CONTROL), ("<|assistant|>", USER_DEFINED), ("<|user|>", USER_DEFINED), ("<|end|>", USER_DEFINED)],
          ids(bos_token_id="<s>", eos_token_id="<|endoftext|>", padding_token_id="<|endoftext|>", add_bos_token=True),
          ["<|endoftext|>", "<|end|>"], ["<|assistant|>"], bos="<s>", where="eos; `<|end|>` by name, of type user-defined"),
    Shape("Gemma 1, Google's file", "llama", GEMMA + [("<start_of_turn>", NORMAL), ("<end_of_turn>", NORMAL)],
          ids(bos_token_id="<bos>", eos_token_id="<eos>", unknown_token_id="<unk>", add_bos_token=True),
          ["<eos>", "<end_of_turn>"], ["<start_of_turn>"], bos="<bos>", where="eos; `<end_of_turn>` by name, of type normal"),
    Shape("Gemma 2", "llama", GEMMA + controls("<start_of_turn>", "<end_of_turn>"),
          ids(bos_token_id="<bos>", eos_token_id="<eos>", eot_token_id="<end_of_turn>", add_bos_token=True),
          ["<eos>", "<end_of_turn>"], ["<start_of_turn>"], bos="<bos>", where="eos, eot"),
    Shape("Gemma 4", "llama", GEMMA + controls("<|turn>", "<turn|>", "<|tool_response>"),
          ids(bos_token_id="<bos>", eos_token_id="<turn|>", add_bos_token=True),
          ["<turn|>", "<|tool_response>"], ["<|turn>"], bos="<bos>", where="eos; `<|tool_response>` by name"),
    Shape("ChatML on Mistral 7B", "llama", LLAMA2 + [("<|im_end|>", USER_DEFINED), ("<|im_start|>", USER_DEFINED)],
          ids(bos_token_id="<s>", eos_token_id="</s>", add_bos_token=True),
          ["</s>", "<|im_end|>"], ["<|im_start|>"], bos="<s>", where="eos; `<|im_end|>` by name"),
    Shape("Llama 2", "llama", LLAMA2, ids(bos_token_id="<s>", eos_token_id="</s>", add_bos_token=True), ["</s>"], bos="<s>",
          where="eos"),
    Shape("Llama 2 without add_bos_token", "llama", LLAMA2, ids(bos_token_id="<s>", eos_token_id="</s>"), ["</s>"], bos="<s>",
          where="eos; BOS by the vocabulary's kind"),
    Shape("Llama 3 Instruct, first files", "gpt2", LLAMA3,
          both(ids(bos_token_id="<|begin_of_text|>", eos_token_id="<|end_of_text|>"), {"tokenizer.ggml.pre": "llama-bpe"}),
          ["<|end_of_text|>", "<|eot_id|>", "<|eom_id|>"], ["<|start_header_id|>"], bos="<|begin_of_text|>",
          where="eos; `<|eot_id|>` by name"),
    Shape("Llama 3.1 Instruct", "gpt2", LLAMA3,
          both(ids(bos_token_id="<|begin_of_text|>", eos_token_id="<|eot_id|>", eom_token_id="<|eom_id|>"),
               {"tokenizer.ggml.pre": "llama-bpe"}),
          ["<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"], ["<|end_header_id|>"], bos="<|begin_of_text|>", where="eos, eom"),
    Shape("Mistral 7B v0.3", "llama", LLAMA2 + controls("[INST]", "[/INST]", "[TOOL_CALLS]"),
          ids(bos_token_id="<s>", eos_token_id="</s>", add_bos_token=True, add_eos_token=False),
          ["</s>"], ["[INST]", "[TOOL_CALLS]"], bos="<s>", where="eos"),
    Shape("Mistral Nemo", "gpt2", controls("<unk>", "<s>", "</s>", "[INST]"),
          both(ids(bos_token_id="<s>", eos_token_id="</s>", add_bos_token=True), {"tokenizer.ggml.pre": "tekken"}),
          ["</s>"], ["[INST]"], bos="<s>", where="eos"),
    Shape("Qwen2.5", "gpt2", CHATML + [("<tool_call>", USER_DEFINED), ("<|fim_pad|>", CONTROL)],
          both(ids(bos_token_id="<|endoftext|>", eos_token_id="<|im_end|>", add_bos_token=False), {"tokenizer.ggml.pre": "qwen2"}),
          ["<|im_end|>", "<|endoftext|>"], ["<tool_call>", "<|im_start|>", "<|fim_pad|>"], where="eos; `<|endoftext|>` by name"),
    Shape("Qwen, eos of the base model", "gpt2", CHATML,
          both(ids(eos_token_id="<|endoftext|>", add_bos_token=False), {"tokenizer.ggml.pre": "qwen2"}),
          ["<|im_end|>", "<|endoftext|>"], ["<|im_start|>"], where="eos; `<|im_end|>` by name"),
    Shape("gpt-oss", "gpt2", controls("<|startoftext|>", "<|endoftext|>", "<|return|>", "<|call|>", "<|end|>", "<|channel|>"),
          both(ids(bos_token_id="<|startoftext|>", eos_token_id="<|return|>", add_bos_token=False), {"tokenizer.ggml.pre": "gpt-4o"}),
          ["<|return|>", "<|call|>"], ["<|end|>", "<|channel|>"], where="eos; `<|call|>` by name; `<|end|>` ends a message alone"),
    Shape("DeepSeek R1", "gpt2", controls("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>"),
          both(ids(bos_token_id="<｜begin▁of▁sentence｜>", eos_token_id="<｜end▁of▁sentence｜>", add_bos_token=True),
               {"tokenizer.ggml.pre": "deepseek-v3"}),
          ["<｜end▁of▁sentence｜>"], ["<｜User｜>"], bos="<｜begin▁of▁sentence｜>", where="eos"),
    Shape("GLM-4", "gpt2", controls("<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|observation|>"),
          both(ids(eos_token_id="<|endoftext|>", eot_token_id="<|user|>", add_bos_token=False), {"tokenizer.ggml.pre": "glm4"}),
          ["<|endoftext|>", "<|user|>", "<|observation|>"], ["[gMASK]"], where="eos, eot; `<|observation|>` by name"),
    Shape("Command R", "gpt2", controls("<BOS_TOKEN>", "<EOS_TOKEN>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
          both(ids(bos_token_id="<BOS_TOKEN>", eos_token_id="<|END_OF_TURN_TOKEN|>", add_bos_token=True),
               {"tokenizer.ggml.pre": "command-r", "tokenizer.chat_template": PLAIN,
                "tokenizer.chat_templates": ["tool_use", "rag"], "tokenizer.chat_template.tool_use": TOOLS,
                "tokenizer.chat_template.rag": "R"}),
          ["<|END_OF_TURN_TOKEN|>"], ["<|START_OF_TURN_TOKEN|>"], bos="<BOS_TOKEN>",
          templates={"plain": "user: U\n", "tools": "f;user: U\n"}, where="eos; templates `tool_use`, `rag`"),
    Shape("Phi-4", "gpt2", controls("<|endoftext|>", "<|im_start|>", "<|im_sep|>", "<|im_end|>"),
          both(ids(bos_token_id="<|endoftext|>", eos_token_id="<|im_end|>"), {"tokenizer.ggml.pre": "dbrx"}),
          ["<|im_end|>", "<|endoftext|>"], ["<|im_sep|>"], where="eos"),
    Shape("StarCoder 2", "gpt2", controls("<|endoftext|>") + FIM,
          both(ids(bos_token_id="<|endoftext|>", eos_token_id="<|endoftext|>"), {"tokenizer.ggml.pre": "starcoder"}),
          ["<|endoftext|>"], ["<fim_prefix>", "<fim_middle>"], where="eos; marks of a gap are no ends"),
    Shape("CodeLlama", "llama", LLAMA2 + controls("▁<PRE>", "▁<MID>", "▁<EOT>"),
          ids(bos_token_id="<s>", eos_token_id="</s>", eot_token_id="▁<EOT>", add_bos_token=True),
          ["</s>", "▁<EOT>"], ["▁<PRE>"], bos="<s>", where="eos, eot"),
    Shape("Granite 3", "gpt2", controls("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>"),
          both(ids(bos_token_id="<|end_of_text|>", eos_token_id="<|end_of_text|>", add_bos_token=False),
               {"tokenizer.ggml.pre": "refact"}),
          ["<|end_of_text|>"], ["<|end_of_role|>"], where="eos"),
    Shape("EXAONE 3.5", "gpt2", controls("[BOS]", "[|endofturn|]", "[|user|]"),
          both(ids(bos_token_id="[BOS]", eos_token_id="[|endofturn|]"), {"tokenizer.ggml.pre": "exaone"}),
          ["[|endofturn|]"], ["[|user|]"], where="eos"),
    Shape("Kimi K2", "gpt2", controls("[BOS]", "[EOS]", "<|im_end|>", "<|im_middle|>"),
          both(ids(bos_token_id="[BOS]", eos_token_id="<|im_end|>"), {"tokenizer.ggml.pre": "kimi-k2"}),
          ["<|im_end|>"], ["<|im_middle|>"], where="eos"),
    Shape("ends in a list", "gpt2", controls("<one>", "<two>", "<three>"),
          ids(eos_token_id="<one>", eos_token_ids=["<one>", "<two>"]),
          ["<one>", "<two>"], ["<three>"], where="eos, eos_token_ids"),
    Shape("special ids beyond the vocabulary", "gpt2", controls("<|endoftext|>"),
          both(ids(eos_token_id="<|endoftext|>"), {"tokenizer.ggml.padding_token_id": 151643, "tokenizer.ggml.eot_token_id": 151645}),
          ["<|endoftext|>"], told=["padding_token_id", "eot_token_id"], where="eos; ids that no token has are ignored"),
    Shape("recommended top_k -1", "gpt2", controls("<|endoftext|>"),
          both(ids(eos_token_id="<|endoftext|>"), {"general.sampling.top_k": -1, "general.sampling.top_p": 7.0}),
          ["<|endoftext|>"], told=["top_p"], where="eos; sampling out of range is ignored"),
    Shape("padded with a letter", "gpt2", controls("<|endoftext|>") + [("\u4e2d", USER_DEFINED), ("[PAD1]", UNUSED)],
          both(ids(eos_token_id="<|endoftext|>"), ids(padding_token_id="!")), ["<|endoftext|>"],
          where="eos; a padding token that texts have"),
]


def folder(name, kind, specials, says, ends, goes_on=(), **more):
    return Shape(name, kind, specials, says, ends, list(goes_on), is_folder=True, **more)


def config(bos="<|bos|>", eos="<|eos|>", **more):
    return {"tokenizer_config.json": {"bos_token": bos, "eos_token": eos, "tokenizer_class": "PreTrainedTokenizerFast"} | more}


def generation(*texts, **more):
    return lambda v: {"generation_config.json": {"eos_token_id": [v.id(t) for t in texts] if len(texts) > 1 else v.id(texts[0])} | more}


def model_config(**settings):
    """config.json; texts of tokens become ids."""
    def says(v):
        def value(x):
            if isinstance(x, dict):
                return {key: value(y) for key, y in x.items()}
            texts = {text for text, _ in v.pieces}
            return [value(y) for y in x] if isinstance(x, list) else v.id(x) if isinstance(x, str) and x in texts else x
        return {"config.json": value(settings)}
    return says


def starts_with(bos):
    return lambda v: {"tokenizer.json": tokenizer_json(v, post_processor=with_bos(v, bos))}


def tekken(vocabulary):
    """tekken.json: the special tokens first, then the bytes."""
    specials = [text for _, text, own in vocabulary.specials() if own == CONTROL]
    rows = [{"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None} for i in range(256)]
    return {"tekken.json": {
        "config": {"pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
                   "num_vocab_tokens": 256, "default_vocab_size": 256 + len(specials),
                   "default_num_special_tokens": len(specials), "version": "v7"},
        "vocab": rows,
        "special_tokens": [{"rank": i, "token_str": text, "is_control": True} for i, text in enumerate(specials)]}}


class TekkenVocabulary(Vocabulary):
    def __init__(self, specials):
        super().__init__("gpt2", [])
        self.pieces = list(specials) + [(letter, NORMAL) for letter in byte_letters()]


BOS_EOS = controls("<|bos|>", "<|eos|>")
FOLDER_SHAPES = [
    folder("Llama 3 Instruct", "gpt2", LLAMA3,
           both(starts_with("<|begin_of_text|>"), config("<|begin_of_text|>", "<|eot_id|>", model_max_length=131072),
                generation("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"), model_config(eos_token_id=["<|end_of_text|>", "<|eot_id|>"])),
           ["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"], ["<|start_header_id|>"], bos="<|begin_of_text|>",
           where="generation_config.json, a list"),
    folder("a merge without generation_config.json", "gpt2", BOS_EOS + [("<turn_end>", CONTROL)],
           both(config(), model_config(eos_token_id=["<|eos|>", "<turn_end>"])), ["<|eos|>", "<turn_end>"], ["<|bos|>"],
           where="config.json, a list"),
    folder("an end in config.json beside one in generation_config.json", "gpt2", BOS_EOS + [("<turn_end>", CONTROL)],
           both(config(), model_config(eos_token_id="<turn_end>"), generation("<|eos|>")), ["<|eos|>", "<turn_end>"],
           where="config.json, generation_config.json"),
    folder("text_config", "gpt2", BOS_EOS + [("<turn_end>", CONTROL)],
           both(config(), model_config(text_config={"eos_token_id": ["<turn_end>"]})), ["<|eos|>", "<turn_end>"],
           where="config.json's text_config"),
    folder("special_tokens_map.json", "gpt2", BOS_EOS,
           both({"special_tokens_map.json": {"bos_token": "<|bos|>", "eos_token": {"content": "<|eos|>"}},
                 "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"}}), ["<|eos|>"], ["<|bos|>"],
           where="special_tokens_map.json"),
    folder("model_max_length of 10^30, NaN, a byte order mark, CRLF", "gpt2", BOS_EOS,
           {"tokenizer_config.json": '\ufeff{"eos_token": "<|eos|>",\r\n"model_max_length": 1000000000000000019884624838656,\r\n'
                                     '"tokenizer_class": "PreTrainedTokenizerFast", "x": NaN, "y": -Infinity}\r\n',
            "generation_config.json": '\ufeff{"transformers_version": "4.0", "temperature": 0.5}'}, ["<|eos|>"],
           where="tokenizer_config.json as Python's json reads it"),
    folder("whole numbers as 128.0", "gpt2", BOS_EOS,
           both(config(), {"config.json": {"max_position_embeddings": 128.0, "num_hidden_layers": 1.0}}), ["<|eos|>"],
           where="tokenizer_config.json"),
    folder("ChatML fine-tune of 2023", "llama", LLAMA2 + [("<|im_end|>", USER_DEFINED), ("<|im_start|>", USER_DEFINED)],
           lambda v: {"tokenizer.model": sentencepiece_model(Vocabulary("llama", LLAMA2)),
                      "added_tokens.json": {"<|im_end|>": v.id("<|im_end|>"), "<|im_start|>": v.id("<|im_start|>")},
                      "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "<|im_end|>"},
                      "special_tokens_map.json": {"eos_token": "<|im_end|>"}},
           ["<|im_end|>", "</s>"], ["<|im_start|>"], bos="<s>", where="tokenizer.model, added_tokens.json"),
    folder("Gemma 2 with TAB in place of <0x09>", "llama", GEMMA + controls("<start_of_turn>", "<end_of_turn>"),
           lambda v: tab_piece(v) | {
               "tokenizer_config.json": {"tokenizer_class": "GemmaTokenizer", "bos_token": "<bos>", "eos_token": "<eos>",
                                         "add_bos_token": True, "model_max_length": 10 ** 30}},
           ["<eos>", "<end_of_turn>"], ["<start_of_turn>"], bos="<bos>", where="tokenizer_config.json; `<end_of_turn>` by name"),
    folder("Hermes 3, a list of templates", "gpt2", CHATML,
           both(config("<|endoftext|>", "<|im_end|>", chat_template=[{"name": "default", "template": PLAIN},
                                                                     {"name": "tool_use", "template": TOOLS}])),
           ["<|im_end|>", "<|endoftext|>"], templates={"plain": "user: U\n", "tools": "f;user: U\n"},
           where="tokenizer_config.json; template `tool_use`"),
    folder("additional_chat_templates", "gpt2", BOS_EOS,
           both(config(), {"chat_template.jinja": PLAIN, "additional_chat_templates/tool_use.jinja": TOOLS}), ["<|eos|>"],
           templates={"plain": "user: U\n", "tools": "f;user: U\n"}, where="tokenizer_config.json; template `tool_use`"),
    folder("chat_template.json of a processor", "gpt2", BOS_EOS, both(config(), {"chat_template.json": {"chat_template": PLAIN}}),
           ["<|eos|>"], templates={"plain": "user: U\n"}, where="tokenizer_config.json"),
    folder("Llama's class without BOS", "gpt2", BOS_EOS,
           both(starts_with("<|bos|>"), config(tokenizer_class="LlamaTokenizerFast", add_bos_token=False)), ["<|eos|>"],
           where="tokenizer_config.json; BOS by the class's flags"),
    folder("Llama's class with BOS and EOS", "gpt2", BOS_EOS,
           config(tokenizer_class="LlamaTokenizerFast", add_bos_token=True, add_eos_token=True), ["<|eos|>"],
           bos="<|bos|>", eos="<|eos|>", where="tokenizer_config.json; BOS and EOS by the class's flags"),
    folder("another class with flags", "gpt2", BOS_EOS, both(starts_with("<|bos|>"), config(add_bos_token=False)), ["<|eos|>"],
           bos="<|bos|>", where="tokenizer_config.json; BOS by the post-processor"),
    folder("vocab.json and merges.txt", "gpt2", controls("<|endoftext|>"),
           lambda v: {"vocab.json": {text: i for i, (text, _) in enumerate(v.pieces)}, "merges.txt": "#version: 0.2\nt h\n",
                      "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<|endoftext|>",
                                                "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}},
           ["<|endoftext|>"], where="tokenizer_config.json"),
    folder("tekken.json alone", "tekken", controls("<unk>", "<s>", "</s>", "[INST]"),
           both(tekken, model_config(bos_token_id="<s>", eos_token_id="</s>")), ["</s>"], ["[INST]"], bos="<s>",
           where="tekken.json"),
    folder("a special token of one letter", "gpt2", BOS_EOS,
           lambda v: {"tokenizer.json": tokenizer_json(v, added_tokens=[
               added_token(v.id("<|bos|>"), "<|bos|>", CONTROL), added_token(v.id("<|eos|>"), "<|eos|>", CONTROL),
               added_token(v.id("!"), "!", CONTROL)])} | config(pad_token="!"), ["<|eos|>"], where="tokenizer_config.json"),
    folder("added tokens that take spaces", "llama", LLAMA2 + [("<|end|>", USER_DEFINED), ("<|user|>", USER_DEFINED)],
           lambda v: {"tokenizer.json": tokenizer_json(v, added_tokens=[
               added_token(v.id("</s>"), "</s>", CONTROL), added_token(v.id("<|end|>"), "<|end|>", CONTROL, **PHI3),
               added_token(v.id("<|user|>"), "<|user|>", CONTROL, **PHI3)])} | config("<s>", "</s>"),
           ["</s>", "<|end|>"], ["<|user|>"], told=["<|user|>"], where="tokenizer_config.json; `<|end|>` by name"),
    folder("recommendations that make no sense", "gpt2", BOS_EOS,
           both(config(), generation("<|eos|>", top_k=-1, top_p=3.0, temperature=-2.0)), ["<|eos|>"], told=["top_p", "temperature"],
           where="generation_config.json"),
]


def tab_piece(vocabulary):
    parts = tokenizer_json(vocabulary)
    parts["model"]["vocab"] = {"\t" if text == "<0x09>" else text: i for text, i in parts["model"]["vocab"].items()}
    return {"tokenizer.json": parts}


SHAPES = GGUF_SHAPES + FOLDER_SHAPES
