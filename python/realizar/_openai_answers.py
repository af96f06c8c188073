"""Answers in OpenAI's words: a builder a response, for whole answers and for streams."""
from __future__ import annotations

import secrets
import time
from typing import Any, Dict, Generic, List, Optional, Sequence, Set, TypeVar

from ._model import Model
from ._openai_types import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessage,
    ChatCompletionMessageToolCall,
    ChatCompletionTokenLogprob,
    Choice,
    ChoiceDelta,
    ChoiceDeltaToolCall,
    ChoiceLogprobs,
    ChunkChoice,
    Completion,
    CompletionChoice,
    CompletionUsage,
    Function,
    Logprobs,
    PromptTokensDetails,
    TopLogprob,
)
from ._results import Generation, Piece, Token

Whole = TypeVar("Whole")
Chunk = TypeVar("Chunk")


class Heard:
    """What has come of one choice. tokens: of its content."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.tokens: List[Token] = []
        self.generation = Generation()

    def take(self, piece: Piece) -> None:
        if piece.kind == "content":
            self.tokens.extend(piece.tokens)

    def finish_reason(self) -> str:
        if self.generation.finish_reason == "stop" and self.generation.calls:
            return "tool_calls"
        return "stop" if self.generation.finish_reason == "stop" else "length"


def _usage(choices: Sequence[Heard]) -> CompletionUsage:
    """The choices of one prompt count it once."""
    first = choices[0].generation
    n_generated = sum(choice.generation.n_generated for choice in choices)
    details = PromptTokensDetails(max(choice.generation.n_cached for choice in choices))
    return CompletionUsage(first.n_prompt, n_generated, first.n_prompt + n_generated, details)


class Answers(Generic[Whole, Chunk]):
    """Builds one response."""

    def __init__(self, model: Model, name: str, prefix: str, fingerprint: str) -> None:
        self._model = model
        self.head: Dict[str, Any] = {
            "id": prefix + secrets.token_urlsafe(18),
            "created": int(time.time()),
            "model": name,
            "system_fingerprint": fingerprint,
        }

    def whole(self, choices: Sequence[Heard]) -> Whole:
        raise NotImplementedError

    def begin(self, index: int) -> List[Chunk]:
        raise NotImplementedError

    def piece(self, heard: Heard, piece: Piece) -> List[Chunk]:
        raise NotImplementedError

    def end(self, heard: Heard) -> List[Chunk]:
        raise NotImplementedError

    def usage(self, choices: Sequence[Heard]) -> Chunk:
        raise NotImplementedError

    def token_text(self, token_id: int) -> str:
        return self._model.token_bytes(token_id).decode("utf-8", "replace")


class ChatAnswers(Answers[ChatCompletion, ChatCompletionChunk]):
    def __init__(self, model: Model, name: str, fingerprint: str) -> None:
        super().__init__(model, name, "chatcmpl-", fingerprint)
        self._begun: Set[int] = set()

    def whole(self, choices: Sequence[Heard]) -> ChatCompletion:
        return ChatCompletion(choices=[self._choice(heard) for heard in choices], usage=_usage(choices), **self.head)

    def begin(self, index: int) -> List[ChatCompletionChunk]:
        return []

    def piece(self, heard: Heard, piece: Piece) -> List[ChatCompletionChunk]:
        begun = self._begin(heard.index, is_call=piece.kind.startswith("call_"))
        if piece.kind == "call_end":
            return begun
        logprobs = self._logprobs(piece.tokens) if piece.kind == "content" else None
        return begun + [self._chunk(heard.index, self._delta(piece), logprobs=logprobs)]

    def end(self, heard: Heard) -> List[ChatCompletionChunk]:
        begun = self._begin(heard.index, is_call=False)
        return begun + [self._chunk(heard.index, ChoiceDelta(), finish_reason=heard.finish_reason())]

    def _begin(self, index: int, is_call: bool) -> List[ChatCompletionChunk]:
        """The first chunk of a choice has its role. An answer that begins with a call has no content."""
        if index in self._begun:
            return []
        self._begun.add(index)
        return [self._chunk(index, ChoiceDelta(role="assistant", content=None if is_call else ""))]

    @staticmethod
    def _delta(piece: Piece) -> ChoiceDelta:
        if piece.kind == "content":
            return ChoiceDelta(content=piece.text)
        if piece.kind == "reasoning":
            return ChoiceDelta(reasoning_content=piece.text)
        if piece.kind == "call_begin":
            call = ChoiceDeltaToolCall(piece.call_idx, Function(piece.text, ""), _call_id(), "function")
        else:
            call = ChoiceDeltaToolCall(piece.call_idx, Function(None, piece.text))
        return ChoiceDelta(tool_calls=[call])

    def usage(self, choices: Sequence[Heard]) -> ChatCompletionChunk:
        return ChatCompletionChunk(choices=[], usage=_usage(choices), **self.head)

    def _chunk(self, index: int, delta: ChoiceDelta, **rest: Any) -> ChatCompletionChunk:
        return ChatCompletionChunk(choices=[ChunkChoice(index, delta, **rest)], **self.head)

    def _choice(self, heard: Heard) -> Choice:
        answer = heard.generation
        calls = [
            ChatCompletionMessageToolCall(_call_id(), Function(call.name, call.arguments_json)) for call in answer.calls
        ]
        message = ChatCompletionMessage(
            content=None if calls and not answer.text else answer.text,
            tool_calls=calls or None,
            reasoning_content=answer.reasoning or None,
            parsed=answer.parsed,
        )
        return Choice(heard.index, message, heard.finish_reason(), self._logprobs(heard.tokens))

    def _logprobs(self, tokens: Sequence[Token]) -> Optional[ChoiceLogprobs]:
        told = [token for token in tokens if token.logprob is not None]
        return ChoiceLogprobs([self._logprob(token) for token in told]) if told else None

    def _logprob(self, token: Token) -> ChatCompletionTokenLogprob:
        top = [TopLogprob(self.token_text(i), logprob, list(self._model.token_bytes(i))) for i, logprob in token.top]
        data = list(self._model.token_bytes(token.id))
        return ChatCompletionTokenLogprob(self.token_text(token.id), token.logprob or 0.0, data, top)


class CompletionAnswers(Answers[Completion, Completion]):
    def __init__(self, model: Model, name: str, fingerprint: str) -> None:
        super().__init__(model, name, "cmpl-", fingerprint)
        self._n_chars: Dict[int, int] = {}

    def whole(self, choices: Sequence[Heard]) -> Completion:
        told = [
            CompletionChoice(heard.index, heard.generation.text, heard.finish_reason(), self._logprobs(heard.tokens, 0))
            for heard in choices
        ]
        return Completion(choices=told, usage=_usage(choices), **self.head)

    def begin(self, index: int) -> List[Completion]:
        return []

    def piece(self, heard: Heard, piece: Piece) -> List[Completion]:
        offset = self._n_chars.get(heard.index, 0)
        self._n_chars[heard.index] = offset + len(piece.text)
        choice = CompletionChoice(heard.index, piece.text, None, self._logprobs(piece.tokens, offset))
        return [Completion(choices=[choice], **self.head)]

    def end(self, heard: Heard) -> List[Completion]:
        return [Completion(choices=[CompletionChoice(heard.index, "", heard.finish_reason())], **self.head)]

    def usage(self, choices: Sequence[Heard]) -> Completion:
        return Completion(choices=[], usage=_usage(choices), **self.head)

    def _logprobs(self, tokens: Sequence[Token], offset: int) -> Optional[Logprobs]:
        told = Logprobs()
        for token in tokens:
            if token.logprob is None:
                return None
            text = self.token_text(token.id)
            told.tokens.append(text)
            told.token_logprobs.append(token.logprob)
            told.top_logprobs.append({self.token_text(i): logprob for i, logprob in token.top})
            told.text_offset.append(offset)
            offset += len(text)
        return told if told.tokens else None


def _call_id() -> str:
    return "call_" + secrets.token_urlsafe(18)
