// The server's HTTP interface, without its answers (responses.ts). Addresses are relative: the page also works behind a
// path prefix.
import { words } from './words.ts';

export interface Model {
  id: string;
  context_length?: number;
  loaded?: boolean;
  state?: string; // "unloaded", "loading", "ready", "failed"
  n_params?: number;
  weight_bytes?: number;
  kv_bytes?: number;
  has_thinking_switch?: boolean;
  marks_reasoning?: boolean; // its answers tell reasoning from the rest
  takes_tools?: boolean; // false: the model's chat template tells it of none
  sampling?: Record<string, number>; // what a request gets that names no value
}

export type Failure = 'unauthorized' | 'too long' | 'unreachable' | 'dropped' | 'refused';

export class ApiError extends Error {
  // For a prompt that is too long for the model, in tokens.
  nPrompt?: number;
  nCtx?: number;
  status?: number; // of the HTTP answer, where there was one
  param?: string; // the field that was refused

  constructor(readonly failure: Failure, message: string) {
    super(message);
  }
}

export async function listModels(key: string): Promise<Model[]> {
  const response = await request('v1/models', key);
  const list = (await json(response)) as { data?: unknown };
  if (!Array.isArray(list.data)) throw new ApiError('refused', words.server.wrongAnswer('"data"'));
  return list.data.filter((model) => typeof model?.id === 'string' && model.state !== 'downloading').map(readModel);
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
  if (!Array.isArray(body.tools)) throw new ApiError('refused', words.server.wrongAnswer('"tools"'));
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

// The server's activity from `since` (Unix time in s) on, as long as it keeps that.
export async function fetchHistory(since: number, key: string, signal: AbortSignal): Promise<History> {
  const response = await request(`metrics/history?since=${since}`, key, { signal }).catch((error) => {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw new ApiError('refused', words.server.noMetrics);
  });
  const history = (await json(response)) as History;
  if (!Array.isArray(history.samples?.['time'])) throw new ApiError('refused', words.server.wrongAnswer('"time"'));
  return history;
}

// Sends a request, and returns a successful answer. Throws ApiError, or the AbortError of its signal.
export async function request(path: string, key: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (key) headers.set('Authorization', `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError('unreachable', words.server.unreachable);
  }
  if (response.ok) return response;
  throw refusal(response.status, parse(await response.text().catch(() => '')), key);
}

function refusal(status: number, body: any, key: string): ApiError {
  return Object.assign(refusalOf(status, body, key), { status });
}

function refusalOf(status: number, body: any, key: string): ApiError {
  if (status === 401) {
    return new ApiError('unauthorized', key ? words.key.wrong : words.key.missing);
  }
  const isTooLong = body?.error?.code === 'context_length_exceeded';
  const error = new ApiError(isTooLong ? 'too long' : 'refused', sentence(errorText(body, words.server.status(status))));
  error.param = nonEmpty(body?.error?.param);
  if (Number.isFinite(body?.error?.n_prompt_tokens)) error.nPrompt = body.error.n_prompt_tokens;
  if (Number.isFinite(body?.error?.n_ctx)) error.nCtx = body.error.n_ctx;
  return error;
}

// The API's messages are parts of sentences, for logs.
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export async function json(response: Response): Promise<unknown> {
  const value = parse(await response.text());
  if (typeof value !== 'object' || value === null) throw new ApiError('refused', words.server.notJson);
  return value;
}

// The wire is untyped: every reader above checks what it takes.
export function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The JSON object in a text; undefined if it holds none.
export function objectIn(text: string): object | undefined {
  const value = parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

export function errorText(body: any, otherwise: string): string {
  return nonEmpty(body?.error?.message) ?? nonEmpty(body?.error) ?? otherwise;
}

export function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

// Values that are no counts become undefined.
export function readCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
