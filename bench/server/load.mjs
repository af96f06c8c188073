// Loads an OpenAI-compatible server with concurrent streams and says what its clients saw, as one JSON line:
// tokens/s over all, time to first token, time between tokens. Node 18 or newer, no packages.
//
//   node load.mjs --url http://127.0.0.1:8080 --streams 8 --requests 16 --prompt 128 --gen 64
//                 [--shared 1000] [--vocab 2000] [--seed 1] [--model ID]
// Prompts are token ids drawn by the seed, so that two servers get the same ones and no cache helps; --shared puts the
// same ids before each.
import http from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    streams: { type: "string", default: "8" },
    requests: { type: "string", default: "16" },
    prompt: { type: "string", default: "128" },
    gen: { type: "string", default: "64" },
    shared: { type: "string", default: "0" },
    vocab: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    model: { type: "string", default: "" },
  },
});
const url = new URL(values.url);
const [streams, requests, promptTokens, gen, shared, vocab] = ["streams", "requests", "prompt", "gen", "shared", "vocab"].map(
  (name) => Number(values[name]),
);

// mulberry32
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
function tokens(n, seed) {
  const next = random(seed);
  return Array.from({ length: n }, () => 300 + Math.floor(next() * (vocab - 400)));
}

const agent = new http.Agent({ keepAlive: false, maxSockets: Infinity });
const prefix = tokens(shared, 7);

// One streamed completion: when it was sent, and when each token came.
function complete(number) {
  const body = JSON.stringify({
    ...(values.model && { model: values.model }),
    prompt: [...prefix, ...tokens(promptTokens, Number(values.seed) * 100003 + number)],
    max_tokens: gen,
    temperature: 0,
    ignore_eos: true,
    stream: true,
    cache_prompt: shared > 0,
  });
  return new Promise((resolve, reject) => {
    const sent = performance.now();
    const times = [];
    const request = http.request(
      { host: url.hostname, port: url.port, path: "/v1/completions", method: "POST", agent,
        headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } },
      (response) => {
        let rest = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          const now = performance.now();
          const lines = (rest + chunk).split("\n");
          rest = lines.pop();
          for (const line of lines) {
            if (line.startsWith("data: {") && !/"finish_reason":\s*"/.test(line)) times.push(now);
          }
        });
        response.on("end", () => (response.statusCode === 200 ? resolve({ sent, times }) : reject(new Error(`status ${response.statusCode}: ${rest}`))));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

const results = [];
let next = 0;
async function worker() {
  while (next < requests) results.push(await complete(next++));
}
const start = performance.now();
await Promise.all(Array.from({ length: Math.min(streams, requests) }, worker));
const seconds = (performance.now() - start) / 1e3;
agent.destroy();

function percentiles(list) {
  const sorted = [...list].sort((a, b) => a - b);
  const at = (p) => sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: sorted.at(-1) };
}
// Several tokens in one packet came together for the client: a gap of zero, as it saw them.
const gaps = results.flatMap(({ times }) => times.slice(1).map((time, i) => time - times[i]));
const events = results.reduce((sum, { times }) => sum + times.length, 0);
console.log(
  JSON.stringify({
    streams, requests, prompt: promptTokens + shared, gen, seconds, events,
    tok_s: (requests * gen) / seconds,
    first_token_ms: percentiles(results.map(({ sent, times }) => times[0] - sent)),
    between_tokens_ms: percentiles(gaps),
  }),
);
