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

const kSaidChars = 2_000; // of a given answer, in one event
const kMaxPromptChars = 400; // of a conversation whose last question has the word "long"

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A response of the Responses API: its events are kept, and sent to whoever follows it. One in the background goes on
// without followers until it is deleted.
class Answer {
  events = [];
  followers = new Set();
  isOver = false;

  constructor(id, isInBackground, log) {
    Object.assign(this, { id, isInBackground, log });
    this.event('response.created', { response: { id, status: isInBackground ? 'queued' : 'in_progress' } });
  }

  follow(response, first = 0) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': ping\r\n\r\n');
    for (const event of this.events.slice(first)) response.write(event);
    if (this.isOver) return response.end();
    this.followers.add(response);
    response.on('close', () => {
      this.followers.delete(response);
      if (!this.isInBackground && !this.isOver) this.cancel();
    });
  }

  event(type, fields) {
    const event = `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.events.length, ...fields })}\n\n`;
    this.events.push(event);
    return Buffer.from(event);
  }

  // Two writes an event, cut in the middle.
  async send(type, fields) {
    const bytes = this.event(type, fields);
    for (const follower of this.followers) follower.write(bytes.subarray(0, bytes.length >> 1));
    await pause(0);
    for (const follower of this.followers) follower.write(bytes.subarray(bytes.length >> 1));
  }

  async text(text, delayMs, type = 'response.output_text.delta') {
    for (const piece of text.match(/[^]{1,6}/gu) ?? []) {
      if (this.isOver) return;
      await this.send(type, { delta: piece });
      if (delayMs) await pause(delayMs);
    }
  }

  // Until it is deleted.
  async endless(text, delayMs) {
    while (!this.isOver) await this.text(text, delayMs);
  }

  // The whole answer in one write, as a fast model's may come.
  burst(text, nTokens, decodeMs) {
    const first = this.event('response.output_text.delta', { delta: text });
    const last = this.event('response.completed', this.final('completed', 10, nTokens, decodeMs));
    for (const follower of this.followers) follower.write(Buffer.concat([first, last]));
    this.close();
  }

  async call(id, name, args) {
    const item = { type: 'function_call', call_id: id, name, arguments: args };
    await this.send('response.function_call_arguments.delta', { delta: args });
    await this.send('response.output_item.done', { item });
  }

  final(status, nPrompt, nTokens, decodeMs) {
    const usage = { input_tokens: nPrompt, output_tokens: nTokens, input_tokens_details: { cached_tokens: 0.9 * nPrompt } };
    // The server's own time, as the real one tells it: to a browser that is busy all events may come at once.
    return { response: { id: this.id, status, usage, trace: { decode_ms: decodeMs } } };
  }

  async end(nTokens = 40, status = 'completed') {
    if (this.isOver) return;
    await this.send(`response.${status}`, this.final(status, 1000, nTokens, 100));
    this.close();
  }

  async fail(message) {
    await this.send('response.failed', { response: { id: this.id, status: 'failed', error: { code: 'server_error', message } } });
    this.close();
  }

  close() {
    this.isOver = true;
    for (const follower of this.followers) follower.end();
  }

  drop() {
    for (const follower of this.followers) follower.destroy();
  }

  cancel() {
    if (this.isOver) return;
    this.log.aborted += 1;
    this.close();
  }
}

// Items of the Responses API as the messages that they stand for.
function messagesOf(items) {
  const messages = [];
  let thoughts;
  for (const item of items) {
    if (item.type === 'reasoning') thoughts = item.content.map(({ text }) => text).join('');
    else if (item.type === 'function_call_output') messages.push({ role: 'tool', tool_call_id: item.call_id, content: item.output });
    else if (item.type === 'function_call') {
      const call = { id: item.call_id, type: 'function', function: { name: item.name, arguments: item.arguments } };
      const last = messages.at(-1);
      if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: '', tool_calls: [call] });
      else last.tool_calls = [...(last.tool_calls ?? []), call];
    } else messages.push({ role: item.role, content: item.content, ...(thoughts !== undefined && { reasoning_content: thoughts }) });
    if (item.type !== 'reasoning') thoughts = undefined;
  }
  return messages;
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
  for (const name of names) await answer.call(`call_${++callIds}`, name, '{"path": "a.txt\u202e\u{e006b}"}');
}
let callIds = 0;

async function complete(body, response, log) {
  const messages = messagesOf(body.input);
  if (body.stream) log.bodies.push({ ...body, messages });
  const asked = messages.findLast(({ role }) => role === 'user').content.toLowerCase();
  const nPrompt = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (asked.includes('long') && nPrompt > kMaxPromptChars) {
    return fail(response, 400, `the prompt has ${nPrompt} tokens, the model's context ${kMaxPromptChars}`, {
      code: 'context_length_exceeded', n_prompt_tokens: nPrompt, n_ctx: kMaxPromptChars,
    });
  }
  if (asked.includes('http error')) return fail(response, 500, 'The scripted server fails.');
  if (body.background && asked.includes('no room')) return fail(response, 400, 'there is no room to store the response', { param: 'background' });
  if (!body.stream) {
    const text = 'Scripted title';
    return response.end(JSON.stringify({ status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text }] }] }));
  }
  const answer = new Answer(`resp_${++responseIds}`, body.background === true, log);
  if (body.background) log.responses.set(answer.id, answer);
  answer.follow(response);
  await script(answer, asked, messages, body, log);
}
let responseIds = 0;

// Until a test lets the answer go on.
const held = (log) => new Promise((resolve) => {
  log.onRelease = () => {
    log.onRelease = undefined;
    resolve();
  };
});

async function script(answer, asked, messages, body, log) {
  if (asked.includes('stream error')) {
    await answer.text('Half of an ans', 0);
    return answer.fail('The model ran out of scripted memory.');
  }
  if (asked.includes('drop')) {
    await answer.text('Half of an ans', 0);
    log.responses.delete(answer.id);
    return answer.drop();
  }
  if (asked.includes('lost connection')) {
    await answer.text('The first half, ', 2);
    await held(log);
    answer.drop();
    await answer.text('and the second.', 2);
    return answer.end();
  }
  if (log.says !== undefined) {
    for (let at = 0; at < log.says.length; at += kSaidChars) await answer.send('response.output_text.delta', { delta: log.says.slice(at, at + kSaidChars) });
    return answer.end();
  }
  if (asked.includes('few tokens')) return answer.burst('All of it.', 19, 1);
  if (asked.includes('burst')) return answer.burst('All at once.', 41, 50);
  if (asked.includes('slow')) return answer.endless('One word after the other. ', 15);
  if (asked.includes('held')) {
    await answer.text('Before the reload, ', 2);
    await held(log);
    await answer.text('and after it.', 2);
    return answer.end();
  }
  if (body.continue_final_message) {
    await answer.text(' and the end.', 2);
    return answer.end();
  }
  if (asked.includes('cut')) {
    await answer.text('The beginning', 2);
    return answer.end(2, 'incomplete');
  }
  if (asked.includes('tool') && body.tools) {
    await callTools(answer, { messages }, asked);
    return answer.end(10);
  }
  if (asked.includes('think')) await answer.text('First I consider the question. '.repeat(4), 2, 'response.reasoning_text.delta');
  const name = Object.keys(kAnswers).find((key) => asked.includes(key));
  const turn = messages.filter(({ role }) => role === 'user').length;
  await answer.text(name ? kAnswers[name] : `Answer ${++log.answers} to turn ${turn}: ${asked}`, 2);
  await answer.end();
}

// What becomes of a response in the background: it is followed from an event on, or deleted.
function ofResponse(request, response, log) {
  const [, id, after] = /^\/v1\/responses\/(\w+)(?:\?stream=true(?:&starting_after=(\d+))?)?$/.exec(request.url) ?? [];
  const answer = log.responses.get(id);
  if (!answer) return fail(response, 404, 'There is no such response.');
  if (request.method === 'GET') return answer.follow(response, after === undefined ? 0 : Number(after) + 1);
  answer.cancel();
  log.responses.delete(id);
  response.end('{"deleted": true}');
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

async function handle(request, response, { key, log, models, idle, mcp, library }) {
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
  if (library && (await library.handle(request, response, readBody))) return;
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
  if (request.url.startsWith('/v1/responses/') && request.method !== 'POST') return ofResponse(request, response, log);
  if (request.url === '/v1/responses/input_tokens') {
    const length = (await readBody(request)).input.reduce((sum, { content }) => sum + content.length, 0);
    return response.end(JSON.stringify({ input_tokens: length >> 2 }));
  }
  if (request.url !== '/v1/responses') return fail(response, 404, 'There is nothing here.');
  return complete(await readBody(request), response, log);
}

// log: bodies of requests, with the messages that their input stands for; calls of tools, answers given, answers and calls
// that the client gave up. holdCalls: calls get no answer; onRelease() lets a held answer go on. mcp: there are tools.
// says: the text of every answer. library: a ScriptedModels in the place of `models`.
export async function startScriptedServer({ port = 0, key = '', models = kModels, idle = false, mcp = false, library = null } = {}) {
  const log = { bodies: [], calls: [], responses: new Map(), answers: 0, aborted: 0, holdCalls: false, says: undefined };
  const server = createServer((request, response) => void handle(request, response, { key, log, models, idle, mcp, library }).catch(() => response.destroy()));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}`, log, close };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url } = await startScriptedServer({ port: Number(process.env.PORT ?? 0), key: process.env.KEY ?? '' });
  console.log(`scripted server on ${url}`);
}
