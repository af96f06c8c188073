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
  table: '| Protocol | Ordered | Port |\n|:--|:-:|--:|\n| TCP | yes | 443 |\n| UDP | no | 53 |\n\nThat is all.',
  code: 'Here it is:\n\n```python\ndef add(a, b):\n    """Adds."""\n    return a + b  # done\n```\n\n1. First\n2. Second\n   - inner\n\nUse `add(1, 2)`.',
  xss: kXss.join('\n\n'),
  image: 'Look: ![a cat](https://elsewhere.example/cat.png) and [a page](https://elsewhere.example/page).',
  hello: 'Hello! How can I **help** you today?',
  wide: `${'x'.repeat(400)}\n\n\`\`\`\n${'y'.repeat(400)}\n\`\`\`\n\n|${' column |'.repeat(14)}\n|${'---|'.repeat(14)}\n|${' value |'.repeat(14)}`,
};

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

  // The whole answer in one write, as a fast model's may come.
  burst(text, nTokens, decodeMs) {
    const chunks = [
      chunk({ content: text }, 'stop'),
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: nTokens, total_tokens: 10 + nTokens }, trace: { decode_ms: decodeMs } },
    ];
    this.response.end([...chunks.map((value) => JSON.stringify(value)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''));
  }

  async end(nTokens = 40) {
    await this.send(chunk({}, 'stop'));
    await this.send({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: nTokens, total_tokens: 1000 + nTokens, prompt_tokens_details: { cached_tokens: 900 } } });
    await this.send('[DONE]');
    this.response.end();
  }
}

async function complete(body, response, log) {
  const asked = body.messages.at(-1).content.toLowerCase();
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
  if (asked.includes('slow')) {
    await answer.text('One word after the other. '.repeat(400), 15);
    return answer.end();
  }
  if (asked.includes('think')) await answer.text('First I consider the question. '.repeat(4), 2, 'reasoning_content');
  const name = Object.keys(kAnswers).find((key) => asked.includes(key));
  const turn = body.messages.filter(({ role }) => role === 'user').length;
  await answer.text(name ? kAnswers[name] : `Answer ${++log.answers} to turn ${turn}: ${asked}`, 2);
  await answer.end();
}

function fail(response, status, message) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'error', param: null, code: null } }));
}

function metrics() {
  const n = Math.floor(Date.now() / 100) % 100_000;
  const histogram = (name, scale) => [0.01, 0.05, 0.1, 0.5, '+Inf']
    .map((le, idx) => `${name}_bucket{model_name="scripted",le="${le}"} ${Math.floor((n * scale * (idx + 1)) / 5)}`).join('\n');
  return `# HELP vllm:num_requests_running Requests\n# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="scripted"} ${3 + (n % 3)}
vllm:num_requests_waiting{model_name="scripted"} ${n % 2}
vllm:kv_cache_usage_perc{model_name="scripted"} 0.${20 + (n % 10)}
vllm:prompt_tokens_total{model_name="scripted"} ${n * 90}
vllm:generation_tokens_total{model_name="scripted"} ${n * 12}
${histogram('vllm:time_to_first_token_seconds', 1)}
${histogram('vllm:inter_token_latency_seconds', 12)}
`;
}

async function readBody(request) {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return JSON.parse(text);
}

async function handle(request, response, { key, log }) {
  if (request.url === '/') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    return response.end(await readFile(kPage));
  }
  if (key && request.headers.authorization !== `Bearer ${key}`) return fail(response, 401, 'A key is needed.');
  if (request.url === '/metrics') return response.end(metrics());
  if (request.url === '/v1/models') {
    const data = ['scripted', 'scripted-two'].map((id) => ({ id, object: 'model', created: 0, owned_by: 'test', context_length: 4096 }));
    return response.end(JSON.stringify({ object: 'list', data }));
  }
  if (request.url !== '/v1/chat/completions') return fail(response, 404, 'There is nothing here.');
  const body = await readBody(request);
  log.bodies.push(body);
  return complete(body, response, log);
}

// log: bodies of chat requests, answers given, answers that the client gave up.
export async function startScriptedServer({ port = 0, key = '' } = {}) {
  const log = { bodies: [], answers: 0, aborted: 0 };
  const server = createServer((request, response) => void handle(request, response, { key, log }).catch(() => response.destroy()));
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); });
  return { url: `http://127.0.0.1:${server.address().port}`, log, close };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { url } = await startScriptedServer({ port: Number(process.env.PORT ?? 0), key: process.env.KEY ?? '' });
  console.log(`scripted server on ${url}`);
}
