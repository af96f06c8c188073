// The effect of a long prompt on running streams: some streams decode, then one long prompt arrives. Prints the time
// between tokens of the streams before and during the prompt, and the long prompt's time to its first token.
//
//   node stall.mjs --url http://127.0.0.1:8080 --streams 4 --prompt 4000 [--gen 300] [--vocab 2000]
import http from "node:http";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    streams: { type: "string", default: "4" },
    prompt: { type: "string", default: "4000" },
    gen: { type: "string", default: "300" },
    vocab: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
  },
});
const url = new URL(values.url);
const [streams, promptTokens, gen, vocab, seed] = ["streams", "prompt", "gen", "vocab", "seed"].map((n) => Number(values[n]));
const tokens = (n, salt) => Array.from({ length: n }, (_, i) => 300 + (((i + 1) * 7919 + salt * 104729 + seed * 1299709) % (vocab - 400)));

function complete(prompt, maxTokens, onToken) {
  const body = JSON.stringify({ prompt, max_tokens: maxTokens, temperature: 0, ignore_eos: true, stream: true });
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: url.hostname, port: url.port, path: "/v1/completions", method: "POST", agent: false,
        headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } },
      (response) => {
        let rest = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          const lines = (rest + chunk).split("\n");
          rest = lines.pop();
          for (const line of lines) if (line.startsWith("data: {") && !/"finish_reason":\s*"/.test(line)) onToken(performance.now(), request);
        });
        response.on("close", resolve);
      },
    );
    request.on("error", (error) => (request.destroyed ? resolve() : reject(error)));
    request.end(body);
  });
}

const times = Array.from({ length: streams }, () => []);
let started, firstToken;
const before = Math.floor(gen / 3);
const running = times.map((list, i) =>
  complete(tokens(32, i), gen * 40, (now, request) => {
    list.push(now);
    if (firstToken && now > firstToken) request.destroy();
  }).catch(() => {}),
);
while (times.some((list) => list.length < before)) await new Promise((resolve) => setTimeout(resolve, 5));
started = performance.now();
await complete(tokens(promptTokens, 99), 1, (now) => { firstToken ??= now; });
firstToken ??= performance.now();
await Promise.all(running);

const p = (list, share) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(share * list.length))];
const gaps = (from, to) => times.flatMap((list) => list.slice(1).map((t, i) => [t, t - list[i]]).filter(([t]) => t > from && t <= to).map(([, gap]) => gap));
const settled = times.map((list) => list[5]).reduce((a, b) => Math.max(a, b));
const calm = gaps(settled, started), busy = gaps(started, firstToken);
const summary = (list) => ({ n: list.length, p50: p(list, 0.5), p95: p(list, 0.95), p99: p(list, 0.99), max: p(list, 1) });
console.log(JSON.stringify({ streams, prompt: promptTokens, before_ms: summary(calm), during_ms: summary(busy), p95_ratio: p(busy, 0.95) / p(calm, 0.95), long_first_token_ms: firstToken - started }));
