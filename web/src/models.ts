// The models of the server, for the view that loads, downloads and deletes them. It listens to the server while it is
// open; what went wrong stays beside its model until it is dismissed.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, json, nonEmpty, parse, readCount, request } from './api.ts';
import { printable } from './printable.ts';
import { readEvents } from './sse.ts';
import { askForKey, getState, loadModels } from './store.ts';
import { words } from './words.ts';

export interface Row {
  id: string;
  state: string;
  progress?: number; // of loading, 0 to 1
  error?: string; // why it could not be loaded
  nCtx?: number; // that it has, or was trained for
  usedBytes?: number;
  neededBytes?: number;
  fileBytes?: number;
  nParams?: number;
  kind: string[]; // architecture and quantization
  abilities: string[];
  mayDelete: boolean;
  nDone?: number; // of a download in bytes, as the next
  nTotal?: number;
  rate?: number; // in bytes per second
}

export interface Place {
  name: string;
  nFree: number;
  nTotal: number;
}

export interface Rights {
  mayLoad: boolean;
  mayDownload: boolean;
  lacks: string;
}

export interface Library {
  rows: Row[] | null; // null: not known yet
  places: Place[];
  nDiskFree?: number;
  rights: Rights;
  error: ApiError | null;
  problems: ReadonlyMap<string, Problem>; // by model
  said: string; // for screen readers
}

export interface Problem {
  text: string;
  isDownload: boolean; // trying again goes on with it
}

export interface Hit {
  name: string;
  standsFor?: string;
  nParams?: number;
  nDownloads?: number;
}

export interface Choice {
  name: string;
  nBytes: number;
  isUsual: boolean;
}

const kRetryMs = 3_000;
const kShowEveryMs = 200; // events of a download come more often
const kRefreshMs = 15_000; // free memory changes without an event
const kRateMs = 5_000; // the time that a rate is of
const kLeastRateMs = 500;
const kLimit = '--memory-mb';

let library: Library = { rows: null, places: [], rights: { mayLoad: false, mayDownload: false, lacks: '' }, error: null, problems: new Map(), said: '' };
let show: (() => void) | null = null; // while the view is open

function put(patch: Partial<Library>): void {
  library = { ...library, ...patch };
  show?.();
}

function putProblem(id: string, problem: Problem | null): void {
  const problems = new Map(library.problems);
  if (problem) problems.set(id, problem);
  else problems.delete(id);
  put({ problems });
}

export const dismiss = (id: string): void => putProblem(id, null);

function patchRow(id: string, patch: Partial<Row>): boolean {
  const isThere = library.rows?.some((row) => row.id === id) ?? false;
  if (isThere) put({ rows: library.rows!.map((row) => (row.id === id ? { ...row, ...patch } : row)) });
  return isThere;
}

export function useLibrary(key: string): Library {
  const [, setVersion] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    show = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        setVersion((version) => version + 1);
      }, kShowEveryMs);
    };
    setVersion((version) => version + 1);
    void listen(controller.signal);
    const refreshing = setInterval(() => {
      if (document.visibilityState === 'visible') refresh(controller.signal).catch(() => {});
    }, kRefreshMs);
    return () => {
      show = null;
      clearTimeout(timer);
      clearInterval(refreshing);
      controller.abort();
    };
  }, [key]);
  return library;
}

const lost = () => new ApiError('dropped', words.server.lost);

// Until the view is closed. A list that is read after the events have begun misses nothing.
async function listen(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await request('v1/models/sse', getState().key, { signal });
      await refresh(signal);
      for await (const data of readEvents(response.body!)) take(parse(data), signal);
      put({ error: lost() });
    } catch (error) {
      if (signal.aborted) return;
      askForKey(error);
      const failure = error instanceof ApiError ? error : lost();
      put({ error: failure });
      if (failure.failure === 'unauthorized') return; // another key begins anew
    }
    await new Promise((resolve) => setTimeout(resolve, kRetryMs));
  }
}

function take(event: any, signal: AbortSignal): void {
  const id = nonEmpty(event?.model);
  if (id === undefined) return;
  const progress = readCount(event.data?.progress?.value);
  if (event.event === 'model_status' && progress !== undefined && patchRow(id, { state: 'loading', progress })) return;
  if (event.event === 'download_progress') {
    const nDone = readCount(event.done_bytes);
    if (patchRow(id, { state: 'downloading', nDone, nTotal: readCount(event.total_bytes), rate: rateOf(id, nDone ?? 0) })) return;
  }
  if (event.event === 'model_status' && event.data?.status === 'loaded') put({ said: words.models.isLoaded(printable(id)) });
  if (event.event === 'download_finished') put({ said: words.models.isDownloaded(printable(id)) });
  if (event.event === 'download_failed') {
    const text = cancelled.has(id) ? words.models.wasCancelled : nonEmpty(event.data?.error) ?? '';
    putProblem(id, { text, isDownload: true });
  }
  if (event.event !== 'download_progress') {
    cancelled.delete(id);
    arrivals.delete(id);
  }
  void refresh(signal).catch(() => {});
}

const arrivals = new Map<string, { at: number; n: number }[]>(); // of each download's bytes

// Undefined: it is too early to tell.
function rateOf(id: string, n: number): number | undefined {
  const at = performance.now();
  const recent = [...(arrivals.get(id) ?? []).filter((arrival) => at - arrival.at < kRateMs), { at, n }];
  arrivals.set(id, recent);
  const ms = at - recent[0]!.at;
  return ms < kLeastRateMs ? undefined : Math.max(0, n - recent[0]!.n) / (ms / 1_000);
}

let lastAsked = 0;

// Reads the list anew. If answers overtake each other, the one that was asked for last counts.
async function refresh(signal?: AbortSignal): Promise<void> {
  const asked = ++lastAsked;
  const list = (await json(await request('v1/models?details=1', getState().key, { signal }))) as { data?: unknown; server?: any };
  if (asked !== lastAsked) return;
  const rows = Array.isArray(list.data) ? list.data.filter((model) => nonEmpty(model?.id) && !model.parent).map(readRow) : [];
  const places = Array.isArray(list.server?.memory) ? list.server.memory.flatMap(readPlace) : [];
  const rights = { mayLoad: list.server?.may_load === true, mayDownload: list.server?.may_download === true, lacks: nonEmpty(list.server?.lacks) ?? '' };
  put({ rows, places, rights, nDiskFree: readCount(list.server?.disk_free_bytes) || undefined, error: null });
  void loadModels();
}

function readRow(model: any): Row {
  const details = model.details ?? {};
  const used = [model.weight_bytes, model.kv_bytes, model.scratch_bytes].map((value) => readCount(value) ?? 0);
  return {
    id: model.id,
    state: String(model.state ?? 'unloaded'),
    progress: readCount(model.progress),
    error: nonEmpty(model.error),
    nCtx: readCount(model.context_length) ?? (readCount(details.n_ctx_train) || undefined),
    usedBytes: model.loaded === true ? used.reduce((sum, value) => sum + value, 0) : undefined,
    neededBytes: readCount(details.needed_bytes) || undefined,
    fileBytes: readCount(details.file_bytes) || undefined,
    nParams: readCount(details.n_params) || undefined,
    kind: [details.architecture, details.quantization].flatMap((text) => nonEmpty(text) ?? []),
    abilities: Array.isArray(details.capabilities) ? details.capabilities.map(String) : [],
    mayDelete: details.may_delete === true,
    nDone: readCount(model.status?.done_bytes),
    nTotal: readCount(model.status?.total_bytes),
    rate: library.rows?.find((row) => row.id === model.id)?.rate,
  };
}

function readPlace(place: any): Place[] {
  const [nFree, nTotal] = [readCount(place?.free_bytes), readCount(place?.total_bytes)];
  return nFree === undefined || !nTotal ? [] : [{ name: nonEmpty(place.name) ?? '', nFree, nTotal }];
}

async function post(path: string, body: object, signal?: AbortSignal): Promise<any> {
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal };
  return json(await request(path, getState().key, init));
}

// Failures are shown beside the model.
async function change(id: string, isDownload: boolean, ask: () => Promise<unknown>): Promise<boolean> {
  putProblem(id, null);
  try {
    await ask();
    await refresh();
    return true;
  } catch (error) {
    askForKey(error);
    putProblem(id, { text: error instanceof Error ? error.message : String(error), isDownload });
    return false;
  }
}

const cancelled = new Set<string>(); // downloads whose end is no failure

export const load = (id: string) => change(id, false, () => post('v1/models/load', { model: id }));
export const unload = (id: string) => change(id, false, () => post('v1/models/unload', { model: id }));
export const download = (name: string) => change(name, true, () => post('v1/models', { model: name }));
export const cancel = (name: string) => {
  cancelled.add(name);
  return change(name, true, () => post('v1/models/unload', { model: name }));
};

export async function remove(id: string): Promise<void> {
  const path = `v1/models?model=${encodeURIComponent(id)}`;
  const isDone = await change(id, false, () => request(path, getState().key, { method: 'DELETE' }));
  if (isDone) put({ said: words.models.isDeleted(printable(id)) });
}

// Hits, and why there may be more than these.
export async function search(query: string, signal: AbortSignal): Promise<{ hits: Hit[]; note: string }> {
  const { models, note } = await post('v1/models/search', { query }, signal);
  const hits = (Array.isArray(models) ? models : []).flatMap((hit: any) => {
    const name = nonEmpty(hit?.name);
    return name ? [{ name, standsFor: nonEmpty(hit.stands_for), nParams: readCount(hit.parameters), nDownloads: readCount(hit.downloads) }] : [];
  });
  return { hits, note: nonEmpty(note) ?? '' };
}

// The models of a repository, the smallest first.
export async function choices(name: string, signal: AbortSignal): Promise<Choice[]> {
  const { models } = await post('v1/models/choices', { model: name }, signal);
  const all = (Array.isArray(models) ? models : []).flatMap((choice: any) => {
    const own = nonEmpty(choice?.name);
    return own ? [{ name: own, nBytes: readCount(choice.bytes) ?? 0, isUsual: choice.is_usual === true }] : [];
  });
  return all.sort((a: Choice, b: Choice) => a.nBytes - b.nBytes);
}

// A model may lie in several places, within the limit where there is one.
export function memoryOf(places: Place[]): Place {
  const limit = places.find(({ name }) => name === kLimit);
  const rest = places.filter((place) => place !== limit);
  const sum = (of: 'nFree' | 'nTotal') => Math.min(limit?.[of] ?? Infinity, rest.length > 0 ? rest.reduce((n, place) => n + place[of], 0) : Infinity);
  return { name: '', nFree: sum('nFree'), nTotal: sum('nTotal') };
}
