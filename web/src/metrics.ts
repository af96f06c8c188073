// Prometheus text in, the numbers of the metrics view out.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

// Text format 0.0.4. A line that cannot be read is skipped: one odd metric must not hide the others.
export function parsePrometheus(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const sample = line.startsWith('#') ? undefined : parseLine(line.trim());
    if (sample) samples.push(sample);
  }
  return samples;
}

function parseLine(line: string): Sample | undefined {
  const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line)?.[0];
  if (!name) return undefined;
  const labels: Record<string, string> = {};
  let at = name.length;
  if (line[at] === '{') {
    const label = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?/y;
    label.lastIndex = ++at;
    for (let match = label.exec(line); match; match = label.exec(line)) {
      labels[match[1]!] = unescape(match[2]!);
      at = label.lastIndex;
    }
    const close = /\s*\}/y;
    close.lastIndex = at;
    if (!close.test(line)) return undefined;
    at = close.lastIndex;
  }
  const value = number(line.slice(at).trim().split(/\s+/)[0] ?? '');
  return value === undefined ? undefined : { name, labels, value };
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
}

function number(text: string): number | undefined {
  const infinite = /^([+-]?)inf$/i.exec(text);
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  const value = Number(text);
  return text === '' || Number.isNaN(value) ? undefined : value;
}

// The first of `names` that is there, summed over its labels.
export function total(samples: Sample[], ...names: string[]): number | null {
  for (const name of names) {
    const found = samples.filter((sample) => sample.name === name);
    if (found.length > 0) return found.reduce((sum, sample) => sum + sample.value, 0);
  }
  return null;
}

export type Histogram = Map<number, number>; // upper bound of a bucket -> observations at or below it

export function histogram(samples: Sample[], ...names: string[]): Histogram | null {
  for (const name of names) {
    const buckets: Histogram = new Map();
    for (const sample of samples) {
      if (sample.name !== `${name}_bucket`) continue;
      const bound = number(sample.labels['le'] ?? '');
      if (bound !== undefined) buckets.set(bound, (buckets.get(bound) ?? 0) + sample.value);
    }
    if (buckets.size > 0) return buckets;
  }
  return null;
}

// Quantile of what was observed between two scrapes, by linear interpolation inside the bucket, as Prometheus's
// histogram_quantile does. null when there was nothing. A count that fell means that the server began again.
export function quantile(q: number, before: Histogram | null, after: Histogram | null): number | null {
  if (!after) return null;
  const bounds = [...after.keys()].sort((a, b) => a - b);
  const restarted = bounds.some((bound) => after.get(bound)! < (before?.get(bound) ?? 0));
  const counts = bounds.map((bound) => after.get(bound)! - (restarted ? 0 : (before?.get(bound) ?? 0)));
  const n = counts.at(-1) ?? 0;
  if (n <= 0) return null;
  const rank = q * n;
  const idx = counts.findIndex((count) => count >= rank);
  const lower = idx > 0 ? bounds[idx - 1]! : Math.min(0, bounds[0]!);
  const upper = bounds[idx]!;
  if (upper === Infinity) return idx > 0 ? lower : null;
  const below = idx > 0 ? counts[idx - 1]! : 0;
  const inside = counts[idx]! - below;
  return inside > 0 ? lower + ((upper - lower) * (rank - below)) / inside : upper;
}

export interface Scrape {
  time: number; // s
  running: number | null;
  waiting: number | null;
  kvUse: number | null; // 0 to 1
  promptTokens: number | null;
  generatedTokens: number | null;
  firstToken: Histogram | null; // s
  interToken: Histogram | null; // s
}

export function readScrape(text: string, time: number): Scrape {
  const samples = parsePrometheus(text);
  return {
    time,
    running: total(samples, 'vllm:num_requests_running'),
    waiting: total(samples, 'vllm:num_requests_waiting'),
    kvUse: total(samples, 'vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'),
    promptTokens: total(samples, 'vllm:prompt_tokens_total', 'vllm:prompt_tokens'),
    generatedTokens: total(samples, 'vllm:generation_tokens_total', 'vllm:generation_tokens'),
    firstToken: histogram(samples, 'vllm:time_to_first_token_seconds'),
    interToken: histogram(samples, 'vllm:inter_token_latency_seconds', 'vllm:time_per_output_token_seconds'),
  };
}

// Increase per second between two scrapes.
export function rate(before: number | null, after: number | null, elapsed: number): number | null {
  if (before === null || after === null || elapsed <= 0) return null;
  return (after < before ? after : after - before) / elapsed;
}

export interface Point {
  time: number; // s
  running: number | null;
  waiting: number | null;
  kvUse: number | null;
  promptRate: number | null; // tokens/s
  generatedRate: number | null; // tokens/s
  firstTokenP50: number | null; // s
  firstTokenP95: number | null;
  interTokenP50: number | null;
  interTokenP95: number | null;
}

// `previous` is the scrape before, for rates; `oldest` one some seconds back, because few requests fall into one interval.
export function point(now: Scrape, previous: Scrape | undefined, oldest: Scrape | undefined): Point {
  const elapsed = previous ? now.time - previous.time : 0;
  const latency = (q: number, name: 'firstToken' | 'interToken') => (oldest ? quantile(q, oldest[name], now[name]) : null);
  return {
    time: now.time,
    running: now.running,
    waiting: now.waiting,
    kvUse: now.kvUse,
    promptRate: rate(previous?.promptTokens ?? null, now.promptTokens, elapsed),
    generatedRate: rate(previous?.generatedTokens ?? null, now.generatedTokens, elapsed),
    firstTokenP50: latency(0.5, 'firstToken'),
    firstTokenP95: latency(0.95, 'firstToken'),
    interTokenP50: latency(0.5, 'interToken'),
    interTokenP95: latency(0.95, 'interToken'),
  };
}
