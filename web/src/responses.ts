// Answers, by the server's Responses API. They are made in the background: one goes on when the page is loaded again or its
// connection is lost, and is read from the event after the last one that was seen. The server forgets it at its end.
import { ApiError, errorText, json, nonEmpty, parse, readCount, request, sentence, type ToolFunction } from './api.ts';
import type { ToolCall } from './conversation.ts';
import { whileItStays } from './leaving.ts';
import type { PromptMessage } from './prompt.ts';
import { readEvents } from './sse.ts';
import { words } from './words.ts';

export interface AnswerRequest {
  model: string;
  messages: PromptMessage[];
  tools?: ToolFunction[];
  continue_final_message?: boolean;
  [samplingParameter: string]: unknown;
}

// In tokens.
export interface Usage {
  nPrompt: number;
  nCached: number;
  nCompletion: number;
}

// One step of an answer: text, reasoning, whole calls of tools, why it ended, or what it used.
export interface Delta {
  id?: string; // the server's name of the answer
  text?: string;
  reasoning?: string;
  call?: NewCall;
  finish?: 'stop' | 'length';
  usage?: Usage;
  decodeMs?: number; // the server's own time from the first to the last token
  whole?: { text: string; reasoning: string; calls: NewCall[] }; // in place of all that came before
}

export type NewCall = Omit<ToolCall, 'state'>;

// Who asks, and for which conversation: proxies before several servers send all of one to the same server.
export interface Client {
  key: string;
  session: string;
}

export const kMaxCalls = 64; // of tools, in one answer
const kPollMs = 2_000;
const kStepsGone = 'stream'; // the field that is refused where the steps of an answer are no longer kept

// The position in an answer's stream: its id, and the number of the last event that was seen.
interface Place {
  id: string;
  last?: number;
}

// Streams a new answer. Throws ApiError, or the AbortError of `signal`, which also ends the answer on the server.
export async function* streamAnswer(body: AnswerRequest, client: Client, signal: AbortSignal): AsyncGenerator<Delta> {
  const { response, isKept } = await begin(requestBody(body), client, signal);
  if (isKept) yield* untilItsEnd(response, undefined, client, signal);
  else yield* whileItLasts(response, signal);
}

// Streams an answer that an earlier page began, from its first step on.
export async function* resumeAnswer(id: string, client: Client, signal: AbortSignal): AsyncGenerator<Delta> {
  yield* untilItsEnd(await reopen({ id }, client, signal), { id }, client, signal);
}

// A short text, without a stream. The server keeps nothing of it.
export async function shortAnswer(body: AnswerRequest, client: Client, signal: AbortSignal): Promise<string> {
  const response = await ask('v1/responses', client, posted({ ...requestBody(body), store: false }, signal));
  const { output } = (await json(response)) as { output?: unknown };
  return textIn(output).trim();
}

const ask = (path: string, { key, session }: Client, init: RequestInit): Promise<Response> =>
  request(path, key, { ...init, headers: { ...init.headers, 'X-Session-Id': session } });

// The length of a prompt, in tokens.
export async function countTokens(model: string, messages: PromptMessage[], client: Client, signal: AbortSignal): Promise<number | undefined> {
  const response = await ask('v1/responses/input_tokens', client, posted(requestBody({ model, messages }), signal));
  return readCount(((await json(response)) as { input_tokens?: unknown }).input_tokens);
}

function requestBody({ messages, tools, ...fields }: AnswerRequest): object {
  const functions = tools?.map((tool) => ({ type: 'function', ...tool }));
  return { ...fields, input: messages.flatMap(items), ...(functions && { tools: functions }) };
}

function items({ role, content, reasoning_content: reasoning, tool_calls: calls = [], tool_call_id: callId }: PromptMessage): object[] {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: callId, output: content }];
  const thoughts = reasoning ? [{ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: reasoning }] }] : [];
  const message = content !== '' || calls.length === 0 ? [{ type: 'message', role, content }] : [];
  const made = calls.map(({ id, name, arguments: args }) => ({ type: 'function_call', call_id: id, name, arguments: args }));
  return [...thoughts, ...message, ...made];
}

const posted = (body: object, signal: AbortSignal): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'X-Trace': '1' },
  body: JSON.stringify(body),
  signal,
});

// A server that has no room to keep an answer streams it all the same, and it ends with this page.
async function begin(body: object, client: Client, signal: AbortSignal): Promise<{ response: Response; isKept: boolean }> {
  const streamed = { ...body, stream: true };
  try {
    return { response: await ask('v1/responses', client, posted({ ...streamed, background: true }, signal)), isKept: true };
  } catch (error) {
    if (!(error instanceof ApiError) || error.param !== 'background') throw error;
    return { response: await ask('v1/responses', client, posted({ ...streamed, store: false }, signal)), isKept: false };
  }
}

const address = ({ id }: Place): string => `v1/responses/${encodeURIComponent(id)}`;

// undefined where the server keeps the answer without its steps: a long one has more of them than it keeps.
async function reopen(place: Place, client: Client, signal: AbortSignal): Promise<Response | undefined> {
  try {
    return await ask(`${address(place)}?stream=true${place.last === undefined ? '' : `&starting_after=${place.last}`}`, client, { signal });
  } catch (error) {
    if (error instanceof ApiError && error.param === kStepsGone) return undefined;
    throw error;
  }
}

// Follows the answer over lost connections. It is deleted at its end, which also ends it where it still goes on.
async function* untilItsEnd(response: Response | undefined, place: Place | undefined, client: Client, signal: AbortSignal): AsyncGenerator<Delta> {
  try {
    while (response) {
      let hasNews = false;
      try {
        for await (const { delta, last } of deltasOf(response, signal)) {
          hasNews = true;
          const id = delta.id ?? place?.id;
          place = id === undefined ? undefined : { id, last: last ?? place?.last };
          yield delta;
          if (delta.finish) return;
        }
        await whileItStays();
        throw new ApiError('dropped', words.server.incomplete);
      } catch (error) {
        const { failure, param } = error instanceof ApiError ? error : { failure: undefined, param: undefined };
        if (failure !== 'dropped' || !place) throw error;
        if (param !== kStepsGone && !hasNews) throw error;
        response = param === kStepsGone ? undefined : await reopen(place, client, signal).catch(() => Promise.reject(error));
      }
    }
    if (place) yield await wholeAnswer(place, client, signal);
  } finally {
    if (place) void ask(address(place), client, { method: 'DELETE', keepalive: true }).catch(() => {});
  }
}

async function* whileItLasts(response: Response, signal: AbortSignal): AsyncGenerator<Delta> {
  for await (const { delta } of deltasOf(response, signal)) {
    yield { ...delta, id: undefined };
    if (delta.finish) return;
  }
  throw new ApiError('dropped', words.server.incomplete);
}

// Waits for the end of an answer whose steps are not kept.
async function wholeAnswer(place: Place, client: Client, signal: AbortSignal): Promise<Delta> {
  for (;;) {
    const response = (await json(await ask(address(place), client, { signal }))) as any;
    if (response.status !== 'queued' && response.status !== 'in_progress') {
      const { output } = response;
      return { ...readEnd(response), whole: { text: textIn(output), reasoning: textIn(output, 'reasoning'), calls: callsIn(output) } };
    }
    await new Promise((resolve) => setTimeout(resolve, kPollMs));
    signal.throwIfAborted();
  }
}

async function* deltasOf(response: Response, signal: AbortSignal): AsyncGenerator<{ delta: Delta; last?: number }> {
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream') || !response.body) {
    throw new ApiError('refused', words.server.noStream);
  }
  for await (const data of connected(readEvents(response.body), signal)) {
    const event = parse(data);
    yield { delta: { ...readEvent(event), id: nonEmpty(event?.response?.id) }, last: readCount(event?.sequence_number) };
  }
}

// Whatever reading throws, unless the user stopped it, is a lost connection.
async function* connected(events: AsyncGenerator<string>, signal: AbortSignal): AsyncGenerator<string> {
  try {
    yield* events;
  } catch (error) {
    if (signal.aborted) throw error;
    await whileItStays();
    throw new ApiError('dropped', words.server.lost);
  }
}

function readEvent(event: any): Delta {
  switch (event?.type) {
    case 'response.output_text.delta':
      return { text: nonEmpty(event.delta) };
    case 'response.reasoning_text.delta':
      return { reasoning: nonEmpty(event.delta) };
    case 'response.output_item.done':
      return { call: callsIn([event.item])[0] };
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return readEnd(event.response);
  }
  if (event?.error) throw failureOf(event.error, event);
  return {};
}

// A response that is over. Throws if it failed.
function readEnd(response: any): Delta {
  if (response?.status === 'failed' || response?.status === 'cancelled') throw failureOf(response.error, response);
  return {
    finish: response?.status === 'incomplete' ? 'length' : 'stop',
    usage: readUsage(response?.usage),
    decodeMs: readCount(response?.trace?.decode_ms),
  };
}

function failureOf(error: any, body: any): ApiError {
  const param = nonEmpty(error?.param);
  return Object.assign(new ApiError(param === kStepsGone ? 'dropped' : 'refused', sentence(errorText(body, words.server.reported))), { param });
}

function readUsage(usage: any): Usage | undefined {
  const nPrompt = readCount(usage?.input_tokens);
  const nCompletion = readCount(usage?.output_tokens);
  if (nPrompt === undefined || nCompletion === undefined) return undefined;
  return { nPrompt, nCompletion, nCached: readCount(usage.input_tokens_details?.cached_tokens) ?? 0 };
}

function callsIn(output: unknown): NewCall[] {
  if (!Array.isArray(output)) return [];
  const calls = output.filter((item) => item?.type === 'function_call' && nonEmpty(item.call_id) && nonEmpty(item.name));
  return calls.map((item) => ({ id: item.call_id, name: item.name, arguments: nonEmpty(item.arguments) ?? '' })).slice(0, kMaxCalls);
}

function textIn(output: unknown, type: 'message' | 'reasoning' = 'message'): string {
  if (!Array.isArray(output)) return '';
  const parts = output.filter((item) => item?.type === type && Array.isArray(item.content)).flatMap((item) => item.content);
  return parts.map((part) => nonEmpty(part?.text) ?? '').join('');
}
