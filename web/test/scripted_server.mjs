// A small server with the real one's interface and scripted answers, for what a model cannot be made to say: attacks,
// errors, a chosen table. Nothing about the real server is tested with it.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const kPage = new URL('../page/index.html', import.meta.url);

export const kXss = [
  '<script>window.__pwned = 1</script>',
  '<img src=x onerror="window.__pwned = 2">',
  '<svg onload="window.__pwned = 3"><script>window.__pwned = 4</script></svg>',
  '<svg><animate onbegin="window.__pwned = 5" attributeName=x dur=1s></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.__pwned=6&gt;">',
  '[link](javascript:window.__pwned=7)',
  '[link](JaVaScRiPt&colon;window.__pwned=8)',
  '[link](data:text/html,<script>window.__pwned=9</script>)',
  '[link](vbscript:msgbox)',
  '![image](https://elsewhere.example/track.png)',
  '![image](data:image/svg+xml,<svg onload=alert(1)>)',
  '![x](x" onerror="window.__pwned=10)',
  '<a href="javascript:window.__pwned=11" onclick="window.__pwned=12">raw</a>',
  '<iframe srcdoc="<script>parent.__pwned = 13</script>"></iframe>',
  '<object data="javascript:window.__pwned=14"></object><embed src="javascript:window.__pwned=15">',
  '<style>body { display: none }</style>',
  '<div style="position:fixed;inset:0;background:red" class="scrim">overlay</div>',
  '<link rel=stylesheet href="https://elsewhere.example/a.css"><base href="https://elsewhere.example/">',
  '<form action="https://elsewhere.example/"><button formaction="javascript:window.__pwned=16">go</button></form>',
  '<details open ontoggle="window.__pwned = 17"><summary>x</summary></details>',
  '<video autoplay onloadstart="window.__pwned=18"><source src=x onerror="window.__pwned=19"></video>',
  '<meta http-equiv=refresh content="0;url=https://elsewhere.example/">',
  '<kbd onmouseover="window.__pwned=20" style="color:red">key</kbd>',
  '`<img src=x onerror=window.__pwned=21>`',
  '```html"><img src=x onerror=window.__pwned=22>\n<script>window.__pwned = 23</script>\n```',
  '| a | <img src=x onerror=window.__pwned=24> |\n|---|---|\n| <script>window.__pwned=25</script> | [b](javascript:window.__pwned=26) |',
  '<https://elsewhere.example/auto> and https://elsewhere.example/bare and <javascript:window.__pwned=27>',
  '[ref][r]\n\n[r]: javascript:window.__pwned=28 "title\\" onclick=window.__pwned=29"',
];

const kAnswers = {
  'hash table': String.raw`A hash table turns each key into a bucket, $h(k) \bmod m$, so that a lookup need not search all $n$ keys. With a load factor $\alpha = \frac{n}{m}$, linear probing looks at

$$\frac{1}{2}\left(1 + \frac{1}{(1 - \alpha)^2}\right)$$

buckets on average when the key is missing: 2.5 at half full, 50.5 at nine tenths.

~~~python
def find(table, key):
    """The value of a key, or None."""
    at = hash(key) % len(table)
    while table[at] is not None:
        if table[at][0] == key:
            return table[at][1]
        at = (at + 1) % len(table)  # linear probing
    return None
~~~`,
  table: '| Protocol | Ordered | Port |\n|:--|:-:|--:|\n| TCP | yes | 443 |\n| UDP | no | 53 |\n\nThat is all.',
  code: 'Here it is:\n\n```python\ndef add(a, b):\n    """Adds."""\n    return a + b  # done\n```\n\n1. First\n2. Second\n   - inner\n\nUse `add(1, 2)`.',
  unseen: 'Heart \u2764\ufe0f, \u{1f469}\u200d\u{1f680} and \u202egpj.\n\n```python\nprint("a\u200b\u202eb")  # \u{e0061}\x1b[201~\n```\n\nUse `rm\u2066 -rf`.',
  xss: kXss.join('\n\n'),
  math: String.raw`The load factor is $\alpha = \frac{n}{m}$, so a lookup takes $O(1 + \alpha)$ steps: with \(n = 750\) keys in \(m = 1000\) buckets it is $0.75$.

The expected number of probes with linear probing is

$$\frac{1}{2}\left(1 + \frac{1}{(1 - \alpha)^2}\right)$$

and the keys must sum to

\[
\sum_{i=1}^{m} n_i = n, \qquad \begin{pmatrix} a & b \\ c & d \end{pmatrix} \begin{pmatrix} x \\ y \end{pmatrix} = 0
\]

It costs $5 here and $10 there; \`$x$\` is code, and so is

~~~
$$not a formula$$
~~~
`.replaceAll('\\`', '`'),
  tasks: 'To do:\n\n- [x] Buy **milk**\n- [ ] Write\n\n> A quote\n\n1. One\n2. Two',
  badtex: String.raw`This is $\notacommand{x}$ and $\href{javascript:alert(1)}{x}$ and \[ \frac{1}{ \]`,
  image: 'Look: ![a cat](https://elsewhere.example/cat.png) and [a page](https://elsewhere.example/page).',
  hello: 'Hello! How can I **help** you today?',
  wide: `${'x'.repeat(400)}\n\n\`\`\`\n${'y'.repeat(400)}\n\`\`\`\n\n|${' column |'.repeat(14)}\n|${'---|'.repeat(14)}\n|${' value |'.repeat(14)}`,
};

const kMaxPromptChars = 400; // of a conversation whose last question has the word "long"

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const chunk = (delta, finish = null) => ({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] });

class Answer {
  constructor(response) {
    this.response = response;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': ping\r\n\r\n');
  }

  // Two writes an event, cut in the middle.
  async send(value) {
    const bytes = Buffer.from(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
    this.response.write(bytes.subarray(0, bytes.length >> 1));
    await pause(0);
    this.response.write(bytes.subarray(bytes.length >> 1));
  }

  async text(text, delayMs, field = 'content') {
    for (const piece of text.match(/[^]{1,6}/gu) ?? []) {
      if (this.response.destroyed) return;
      await this.send(chunk({ [field]: piece }));
      if (delayMs) await pause(delayMs);
    }
  }

  // Until its reader leaves.
  async endless(text, delayMs) {
    while (!this.response.destroyed) await this.text(text, delayMs);
  }

  // The whole answer in one write, as a fast model's may come.
  burst(text, nTokens, decodeMs) {
    const chunks = [
      chunk({ content: text }, 'stop'),
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: nTokens, total_tokens: 10 + nTokens }, trace: { decode_ms: decodeMs } },
    ];
    this.response.end([...chunks.map((value) => JSON.stringify(value)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''));
  }

  async end(nTokens = 40, finish = 'stop') {
    await this.send(chunk({}, finish));
    const usage = { prompt_tokens: 1000, completion_tokens: nTokens, total_tokens: 1000 + nTokens, prompt_tokens_details: { cached_tokens: 900 } };
    // The server's own time, as the real one tells it: to a browser that is busy all chunks may come at once.
    await this.send({ choices: [], usage, trace: { decode_ms: 100 } });
    await this.send('[DONE]');
    this.response.end();
  }
}

// The tools of one MCP server, as the real one lists them; the other server fails.
const kHostile = 'Reads a file. \u202e\x1b[31m<img src=x onerror="window.__pwned = 50">';
const kTools = ['read', 'write'].map((name) => ({
  type: 'function', name, function: { name: `files__${name}`, description: kHostile, parameters: { type: 'object' } },
}));

// A call that comes in pieces; or, once there is a result, the answer.
async function callTools(answer, body, asked) {
  const results = body.messages.slice(body.messages.findLastIndex(({ role }) => role === 'user')).filter(({ role }) => role === 'tool');
  if (results.length > 0 && !asked.includes('for ever')) return answer.text(`The tool said: ${results.map(({ content }) => content).join(', ')}`, 2);
  const names = asked.includes('two tools') ? ['files__read', 'files__write'] : asked.includes('no such tool') ? ['files__none'] : asked.includes('bare tool') ? ['read'] : ['files__read'];
  await answer.text('I look.', 0);
  for (const [index, name] of names.entries()) {
    await answer.send(chunk({ tool_calls: [{ index, id: `call_${++callIds}`, type: 'function', function: { name, arguments: '' } }] }));
    for (const piece of ['{"path": "a', '.txt\u202e\u{e006b}"}']) await answer.send(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
  return 'tool_calls';
}
let callIds = 0;

async function complete(body, response, log) {
  const asked = body.messages.findLast(({ role }) => role === 'user').content.toLowerCase();
  const nPrompt = body.messages.reduce((sum, { content }) => sum + content.length, 0);
  if (asked.includes('long') && nPrompt > kMaxPromptChars) {
    return fail(response, 400, `the prompt has ${nPrompt} tokens, the model's context ${kMaxPromptChars}`, {
      code: 'context_length_exceeded', n_prompt_tokens: nPrompt, n_ctx: kMaxPromptChars,
    });
  }
  if (asked.includes('http error')) return fail(response, 500, 'The scripted server fails.');
  response.on('close', () => { if (!response.writableFinished) log.aborted += 1; });
  const answer = new Answer(response);
  if (asked.includes('stream error')) {
    await answer.text('Half of an ans', 0);
    await answer.send({ error: { message: 'The model ran out of scripted memory.', type: 'server_error', param: null, code: null } });
    return response.end();
  }
  if (asked.includes('drop')) {
    await answer.text('Half of an ans', 0);
    return response.destroy();
  }
  if (asked.includes('burst')) return answer.burst('All at once.', 41, 50);
  if (asked.includes('slow')) return answer.endless('One word after the other. ', 15);
  if (body.continue_final_message) {
    await answer.text(' and the end.', 2);
    return answer.end();
  }
  if (asked.includes('cut')) {
    await answer.text('The beginning', 2);
    return answer.end(2, 'length');
  }
  if (asked.includes('tool') && body.tools) return answer.end(10, (await callTools(answer, body, asked)) ?? 'stop');
  if (asked.includes('think')) await answer.text('First I consider the question. '.repeat(4), 2, 'reasoning_content');
  const name = Object.keys(kAnswers).find((key) => asked.includes(key));
  const turn = body.messages.filter(({ role }) => role === 'user').length;
  await answer.text(name ? kAnswers[name] : `Answer ${++log.answers} to turn ${turn}: ${asked}`, 2);
  await answer.end();
}

function fail(response, status, message, more = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'error', param: null, code: null, ...more } }));
}

// An hour in which the load rises and falls; with `idle`, one without any request.
function history(since, idle) {
  const now = Math.floor(Date.now() / 5_000) * 5;
  const times = Array.from({ length: 720 }, (_, idx) => now - (719 - idx) * 5).filter((time) => time > since);
  const wave = (time, period, shift) => (idle ? 0 : Math.max(0, Math.sin((time - now) / period + shift)));
  const column = (value) => times.map((time) => value(time));
  const orNull = (value) => (idle ? null : value);
  const samples = {
    time: times,
    running: column((time) => Math.round(3 + 5 * wave(time, 400, 1)) * (idle ? 0 : 1)),
    waiting: column((time) => Math.round(4 * wave(time, 300, 0))),
    kv_use: column((time) => 0.25 * (idle ? 0 : 1) + 0.4 * wave(time, 400, 1)),
    prompt_tokens_per_s: column((time) => 400 * wave(time, 200, 2)),
    generated_tokens_per_s: column((time) => (idle ? 0 : 60) + 90 * wave(time, 400, 1)),
    prefix_hit_share: column((time) => orNull(0.6 + 0.2 * wave(time, 150, 1))),
    first_token_p50_s: column((time) => orNull(0.08 + 0.1 * wave(time, 300, 0))),
    first_token_p95_s: column((time) => orNull(0.2 + 0.5 * wave(time, 300, 0))),
    inter_token_p50_s: column((time) => orNull(0.02 + 0.01 * wave(time, 400, 1))),
    inter_token_p95_s: column((time) => orNull(0.035 + 0.02 * wave(time, 400, 1))),
    resident_bytes: column((time) => 1.9e9 + 2e8 * wave(time, 700, 1)),
    weight_bytes: column(() => 1.32e9),
    kv_bytes: column(() => 2.7e8),
  };
  const totals = { requests: 1204, refused: 7, failed: 1, preemptions: 2, prefix_queried_tokens: 200_000, prefix_hit_tokens: 124_000 };
  const none = Object.fromEntries(Object.keys(totals).map((name) => [name, 0]));
  return { interval_s: 5, span_s: 3600, uptime_s: 8_100, totals: idle ? none : totals, samples };
}

const kModels = [
  { id: 'scripted', context_length: 4096, state: 'ready', loaded: true, n_params: 1_240_000_000, weight_bytes: 1_320_000_000, kv_bytes: 270_000_000,
    has_thinking_switch: true, sampling: { temperature: 0.8, top_p: 0.95, top_k: 40, min_p: 0, repetition_penalty: 1, frequency_penalty: 0, presence_penalty: 0 } },
  { id: 'scripted-two', state: 'unloaded', loaded: false },
].map((model) => ({ ...model, object: 'model', created: 0, owned_by: 'test' }));

async function readBody(request) {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return JSON.parse(text);
}

async function handle(request, response, { key, log, models, idle, mcp }) {
  if (request.url === '/manifest.webmanifest') return response.end('{"name": "realizar"}');
  if (request.url === '/') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    return response.end(await readFile(kPage));
  }
  const part = /^\/page\/(\w+\.js)\?v=\w+$/.exec(request.url)?.[1];
  if (part) {
    response.writeHead(200, { 'Content-Type': 'text/javascript; charset=utf-8', 'Content-Security-Policy': "default-src 'none'" });
    return response.end(await readFile(new URL(part, kPage)));
  }
  if (key && request.headers.authorization !== `Bearer ${key}`) return fail(response, 401, 'A key is needed.');
  const since = /^\/metrics\/history\?since=([\d.]+)$/.exec(request.url)?.[1];
  if (since !== undefined) return response.end(JSON.stringify(history(Number(since), idle)));
  if (request.url === '/v1/models') return response.end(JSON.stringify({ object: 'list', data: models }));
  if (request.url === '/mcp') return response.end(JSON.stringify({ servers: mcp ? [{ name: 'files' }, { name: 'broken' }] : [] }));
  if (mcp && request.url === '/mcp/files/tools') return response.end(JSON.stringify({ tools: kTools, notes: ["files: a tool is left out, 'x y'"] }));
  if (mcp && request.url === '/mcp/broken/tools') return fail(response, 502, "the MCP server 'broken': it cannot be reached");
  if (mcp && request.url === '/mcp/files/call') {
    const call = await readBody(request);
    log.calls.push(call);
    response.on('close', () => { if (!response.writableFinished) log.aborted += 1; });
    if (log.holdCalls) return;
    return response.end(JSON.stringify({ text: `<b>text</b> of ${call.arguments.path}`, is_error: call.tool === 'write' }));
  }
  if (request.url !== '/v1/chat/completions') return fail(response, 404, 'There is nothing here.');
  const body = await readBody(request);
  log.bodies.push(body);
  return complete(body, response, log);
}

// log: bodies of chat requests, calls of tools, answers given, answers and calls that the client gave up. holdCalls: these
// get no answer. mcp: there are tools.
export async function startScriptedServer({ port = 0, key = '', models = kModels, idle = false, mcp = false } = {}) {
  const log = { bodies: [], calls: [], answers: 0, aborted: 0, holdCalls: false };
  const server = createServer((request, response) => void handle(request, response, { key, log, models, idle, mcp }).catch(() => response.destroy()));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}`, log, close };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url } = await startScriptedServer({ port: Number(process.env.PORT ?? 0), key: process.env.KEY ?? '' });
  console.log(`scripted server on ${url}`);
}
