// The server's HTTP interface (OpenAI's dialect). Addresses are relative: the page also works behind a path prefix.
import { readEvents } from './sse.ts';

export interface Model {
  id: string;
  context_length?: number;
  loaded?: boolean;
  state?: string; // "unloaded", "loading", "ready", "failed"
  n_params?: number;
  weight_bytes?: number;
  kv_bytes?: number;
  has_thinking_switch?: boolean;
  takes_tools?: boolean; // false: the model's chat template tells it of none
  sampling?: Record<string, number>; // what a request gets that names no value
}

// In tokens.
export interface Usage {
  nPrompt: number;
  nCached: number;
  nCompletion: number;
}

export interface ChatRequest {
  model: string;
  messages: {
    role: 'system' | 'user' | 'assistant' | 'tool';
    content: string;
    reasoning_content?: string;
    tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
  }[];
  tools?: { type: 'function'; function: ToolFunction }[];
  [samplingParameter: string]: unknown;
}

// A piece of the call of that index: its name comes first, its arguments as JSON in pieces.
export interface CallPiece {
  index: number;
  id?: string;
  name?: string;
  arguments?: string;
}

// One step of an answer: text, reasoning, calls of tools, why it ended, or what it used.
export interface Delta {
  text?: string;
  reasoning?: string;
  calls?: CallPiece[];
  finish?: string;
  usage?: Usage;
  decodeMs?: number; // the server's own time from the first to the last token
}

const kMaxCalls = 64; // in one answer

export type Failure = 'unauthorized' | 'too long' | 'unreachable' | 'dropped' | 'refused';

export class ApiError extends Error {
  // Of a prompt that is too long for the model, in tokens.
  nPrompt?: number;
  nCtx?: number;
  status?: number; // of the HTTP answer, where there was one

  constructor(readonly failure: Failure, message: string) {
    super(message);
  }
}

export async function listModels(key: string): Promise<Model[]> {
  const response = await request('v1/models', key);
  const list = (await json(response)) as { data?: unknown };
  if (!Array.isArray(list.data)) throw new ApiError('refused', 'The list of models has no "data".');
  return list.data.filter((model) => typeof model?.id === 'string').map(readModel);
}

function readModel(model: any): Model {
  const { context_length, n_params, weight_bytes, kv_bytes } = model;
  const numbers = Object.entries({ context_length, n_params, weight_bytes, kv_bytes });
  return { ...model, ...Object.fromEntries(numbers.map(([name, value]) => [name, readCount(value)])) };
}

// A tool as the model is told of it; its name there is no other tool's.
export interface ToolFunction {
  name: string;
  description: string;
  parameters: object;
}

export interface Tool {
  name: string; // the MCP server's own
  function: ToolFunction;
}

// The MCP servers that this server may ask. One that is older knows none.
export async function listToolServers(key: string): Promise<string[]> {
  try {
    const { servers } = (await json(await request('mcp', key))) as { servers?: unknown };
    return Array.isArray(servers) ? servers.flatMap((server) => nonEmpty(server?.name) ?? []) : [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

// The tools of one, and what was left out of its list.
export async function listTools(server: string, key: string): Promise<{ tools: Tool[]; notes: string[] }> {
  const body = (await json(await request(`mcp/${server}/tools`, key))) as { tools?: unknown; notes?: unknown };
  if (!Array.isArray(body.tools)) throw new ApiError('refused', 'The list of tools is none.');
  const tools = body.tools.filter((tool) => nonEmpty(tool?.name) && nonEmpty(tool?.function?.name));
  for (const tool of tools) tool.function.description = nonEmpty(tool.function.description) ?? '';
  return { tools, notes: Array.isArray(body.notes) ? body.notes.map(String) : [] };
}

export async function callTool(server: string, tool: string, args: object, key: string, signal: AbortSignal): Promise<{ text: string; isError: boolean }> {
  const response = await request(`mcp/${server}/call`, key, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ tool, arguments: args }),
    signal,
  });
  const result = (await json(response)) as { text?: unknown; is_error?: unknown };
  return { text: String(result.text ?? ''), isError: result.is_error === true };
}

export interface History {
  interval_s: number;
  span_s: number;
  uptime_s: number;
  totals: Record<string, number>;
  samples: Record<string, (number | null)[]>; // one array a column; "time" is Unix time in s
}

// What the server did, from `since` (Unix time in s) on, for as long as it keeps that.
export async function fetchHistory(since: number, key: string, signal: AbortSignal): Promise<History> {
  const response = await request(`metrics/history?since=${since}`, key, { signal }).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new ApiError('refused', 'This server shows no metrics here: they are switched off, or a proxy keeps them inside.');
  });
  const history = (await json(response)) as History;
  if (!Array.isArray(history.samples?.['time'])) throw new ApiError('refused', 'The history of metrics has no times.');
  return history;
}

// Streams one answer. Throws ApiError, or the AbortError of `signal`.
export async function* streamChat(body: ChatRequest, key: string, signal: AbortSignal): AsyncGenerator<Delta> {
  const response = await request('v1/chat/completions', key, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Trace': '1' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream') || !response.body) {
    throw new ApiError('refused', 'The server did not answer with a stream.');
  }
  let complete = false;
  for await (const data of connected(readEvents(response.body), signal)) {
    if (data === '[DONE]') return;
    const delta = readChunk(data);
    complete ||= delta.finish !== undefined;
    yield delta;
  }
  if (!complete) throw new ApiError('dropped', 'The connection closed before the answer was complete.');
}

// Whatever reading throws, unless the user stopped it, is a lost connection.
async function* connected(events: AsyncGenerator<string>, signal: AbortSignal): AsyncGenerator<string> {
  try {
    yield* events;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiError('dropped', 'The connection to the server was lost.');
  }
}

function readChunk(data: string): Delta {
  const chunk = parse(data);
  if (chunk?.error) throw new ApiError('refused', sentence(errorText(chunk, 'The server reported an error.')));
  const choice = chunk?.choices?.[0];
  return {
    text: nonEmpty(choice?.delta?.content),
    reasoning: nonEmpty(choice?.delta?.reasoning_content),
    calls: callPieces(choice?.delta?.tool_calls),
    finish: nonEmpty(choice?.finish_reason),
    usage: readUsage(chunk?.usage),
    decodeMs: readCount(chunk?.trace?.decode_ms),
  };
}

function readUsage(usage: any): Usage | undefined {
  const nPrompt = readCount(usage?.prompt_tokens);
  const nCompletion = readCount(usage?.completion_tokens);
  if (nPrompt === undefined || nCompletion === undefined) return undefined;
  return { nPrompt, nCompletion, nCached: readCount(usage.prompt_tokens_details?.cached_tokens) ?? 0 };
}

function callPieces(pieces: any): CallPiece[] | undefined {
  if (!Array.isArray(pieces)) return undefined;
  return pieces.flatMap((piece) =>
    Number.isInteger(piece?.index) && piece.index >= 0 && piece.index < kMaxCalls
      ? [{ index: piece.index, id: nonEmpty(piece.id), name: nonEmpty(piece.function?.name), arguments: nonEmpty(piece.function?.arguments) }]
      : [],
  );
}

async function request(path: string, key: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key) headers.set('Authorization', `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError('unreachable', 'The server cannot be reached.');
  }
  if (response.ok) return response;
  throw refusal(response.status, parse(await response.text().catch(() => '')), key);
}

function refusal(status: number, body: any, key: string): ApiError {
  return Object.assign(refusalOf(status, body, key), { status });
}

function refusalOf(status: number, body: any, key: string): ApiError {
  if (status === 401) {
    return new ApiError('unauthorized', key ? 'The server does not accept this API key.' : 'This server asks for an API key.');
  }
  const isTooLong = body?.error?.code === 'context_length_exceeded';
  const error = new ApiError(isTooLong ? 'too long' : 'refused', sentence(errorText(body, `The server answered ${status}.`)));
  if (Number.isFinite(body?.error?.n_prompt_tokens)) error.nPrompt = body.error.n_prompt_tokens;
  if (Number.isFinite(body?.error?.n_ctx)) error.nCtx = body.error.n_ctx;
  return error;
}

// The API's messages are parts of sentences, for logs.
function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

async function json(response: Response): Promise<unknown> {
  const value = parse(await response.text());
  if (typeof value !== 'object' || value === null) throw new ApiError('refused', 'The server did not answer with JSON.');
  return value;
}

// The wire is untyped: every reader above checks what it takes.
function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorText(body: any, otherwise: string): string {
  return nonEmpty(body?.error?.message) ?? nonEmpty(body?.error) ?? otherwise;
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

// What is no number that can be counted with is left out.
function readCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
