// The server from its operator's view: logs, signals, keys, several models, TLS.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import fs from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import {after, before, describe, test} from 'node:test';
import OpenAI from 'openai';
import {ENDLESS, LONG, LONG_CONTEXT, MODEL, MODEL_FILE, REALIZAR, startServer, startUnready, until} from './server.mjs';

const CHAT = {messages: [{role: 'user', content: 'What is the capital of France?'}], temperature: 0};
const ANSWER = 'The capital of France is Paris.';
const answerOf = async (response) => (await response.json()).choices[0].message.content;
let folder;
before(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'realizar-e2e-'))));
after(() => fs.rmSync(folder, {recursive: true}));

describe('health', () => {
  let server;
  before(async () => (server = await startServer('--access-log', '-')));
  after(async () => assert.equal(await server.stop(), 0));
  const lineOf = (id) => until(() => server.stderr.split('\n').find((l) => l.includes(id)), 'the log line').then(JSON.parse);

  test('alive, ready, and how', async () => {
    assert.deepEqual(await (await fetch(`${server.url}/livez`)).json(), {status: 'alive'});
    assert.deepEqual(await (await fetch(`${server.url}/readyz`)).json(), {status: 'ready'});
    assert.deepEqual((await (await fetch(`${server.url}/health`)).json()).models, {[MODEL]: 'ready'});
  });

  test("a client's request id and traceparent come back, and stand in the log", async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const response = await server.post('/v1/chat/completions', CHAT, {'X-Request-Id': 'mine-1', traceparent});
    assert.equal(response.headers.get('x-request-id'), 'mine-1');
    assert.equal(response.headers.get('traceparent'), traceparent);
    assert.equal(await answerOf(response), ANSWER);
    const line = await lineOf('mine-1');
    assert.equal(line.traceparent, traceparent);
    assert.equal(line.status, 200);
    assert.equal(line.method, 'POST');
    assert.equal(line.path, '/v1/chat/completions');
    assert.equal(line.model, MODEL);
    assert.equal(line.finish_reason, 'stop');
    assert.ok(line.n_prompt > 5 && line.n_generated > 3 && line.total_ms > 0);
    assert.equal(line.prompt, undefined);  // prompts are private unless told otherwise
    assert.doesNotMatch(server.stderr, /capital/);
  });

  test('requests without an id get one each; ids that could break a header do not come back', async () => {
    const ids = [];
    for (const given of [{}, {}, {'X-Request-Id': 'x'.repeat(201)}, {'X-Request-Id': 'caf\xe9'}]) {
      ids.push((await fetch(`${server.url}/livez`, {headers: given})).headers.get('x-request-id'));
    }
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^req_\w{24}$/);
  });

  test('errors and clients that leave are logged too', async () => {
    await server.post('/v1/chat/completions', {model: 'gpt-9'}, {'X-Request-Id': 'wrong-1'});
    assert.equal((await lineOf('wrong-1')).status, 400);
    const controller = new AbortController();
    const left = server.post.call({url: server.url}, '/livez', {});  // a 405 beside it changes nothing
    const stream = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST', body: JSON.stringify(LONG), headers: {'X-Request-Id': 'left-1'}, signal: controller.signal});
    assert.equal(stream.status, 200);
    controller.abort();
    assert.equal((await lineOf('left-1')).status, 499);
    assert.equal((await left).status, 405);
  });

  test('a trace says where the time went', async () => {
    const {trace} = await server.json('/v1/chat/completions', CHAT, {'X-Trace': '1'});
    for (const name of ['prepare_ms', 'queue_ms', 'prefill_ms', 'first_token_ms', 'decode_ms', 'total_ms']) {
      assert.ok(trace[name] >= 0, name);
    }
    assert.ok(trace.n_generated > 3);
  });

  test('metrics count what happened', async () => {
    const before = await server.metric('vllm:generation_tokens_total');
    const {usage} = await server.json('/v1/chat/completions', CHAT);
    const added = async () => (await server.metric('vllm:generation_tokens_total')) - before;
    await until(async () => (await added()) >= usage.completion_tokens, 'the tokens in the metrics');
    const text = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(text, /vllm:request_success_total\{finished_reason="stop",model_name="realizar-tiny"\} \d+/);
    assert.match(text, /realizar_http_requests_total\{route="\/v1\/chat\/completions",status="200"\} \d+/);
    assert.match(text, /vllm:time_to_first_token_seconds_bucket\{/);
  });
});

describe('ending', () => {
  test('after SIGTERM a running stream ends whole, new requests are not taken, and the exit code is 0', async () => {
    const server = await startServer(MODEL, '--drain-timeout-ms', '600000');  // not to depend on the machine's speed
    const stream = await server.post('/v1/chat/completions', {...LONG, n: 4});
    const reader = stream.body.getReader();
    let text = Buffer.from((await reader.read()).value).toString();
    server.signal('SIGTERM');
    await until(async () => {
      try {
        return (await server.post('/v1/chat/completions', CHAT)).status === 503;
      } catch {
        return true;  // the connection is refused
      }
    }, 'new requests to be refused');
    for (let piece; !(piece = await reader.read()).done;) text += Buffer.from(piece.value);
    assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-200));
    assert.equal(text.match(/"finish_reason":"length"/g).length, 4);
    assert.deepEqual(await server.ended(), {code: 0, signal: null});
    assert.equal(server.stderr, '');
  });

  test('a second SIGTERM ends it at once, and the exit code is 1', async () => {
    const server = await startServer(MODEL, '--drain-timeout-ms', '3600000', ...LONG_CONTEXT);
    const stream = await server.post('/v1/chat/completions', ENDLESS);
    const reader = stream.body.getReader();
    await reader.read();
    server.signal('SIGTERM');
    await until(() => fetch(`${server.url}/livez`).then(() => false, () => true), 'the port to close');
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended(), {code: 1, signal: null});
    await assert.rejects(async () => {
      while (!(await reader.read()).done);
    });
    assert.equal(server.stderr, '');
  });

  test('what outlives --drain-timeout-ms is ended, and the exit code is 1', async () => {
    const server = await startServer('--drain-timeout-ms', '100', ...LONG_CONTEXT);
    const stream = await server.post('/v1/chat/completions', ENDLESS);
    await stream.body.getReader().read();
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended(), {code: 1, signal: null});
  });

  test('SIGINT with nothing under way ends it', async () => {
    const server = await startServer();
    server.signal('SIGINT');
    assert.deepEqual(await server.ended(), {code: 0, signal: null});
  });
});

describe('several models', () => {
  let models;
  before(() => {
    models = path.join(folder, 'models');
    fs.mkdirSync(models);
    for (const name of ['first', 'second one']) fs.copyFileSync(MODEL_FILE, path.join(models, `${name}.gguf`));
  });
  const states = async (server) => {
    const {data} = await (await fetch(`${server.url}/v1/models`)).json();
    return Object.fromEntries(data.map((m) => [m.id, m.state]));
  };

  test('are listed at once and loaded when they are asked for', async () => {
    const server = await startServer('--models-dir', models);
    assert.equal(server.model, 'first');
    assert.deepEqual(await states(server), {first: 'ready', 'second one': 'unloaded'});
    const replies = await Promise.all(Array.from({length: 4}, () => server.json('/v1/chat/completions', {...CHAT, model: 'second one'})));
    for (const reply of replies) {
      assert.equal(reply.model, 'second one');
      assert.equal(reply.choices[0].message.content, ANSWER);
    }
    assert.deepEqual(await states(server), {first: 'ready', 'second one': 'ready'});
    const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});
    assert.equal((await client.models.retrieve('second one')).id, 'second one');
    assert.equal(await server.stop(), 0);
  });

  test('--memory-mb holds one of them: the other goes, and comes back when it is asked for', async () => {
    const server = await startServer('--models-dir', models, '--kv-tokens', '2048', '--memory-mb', '12');
    for (const model of ['second one', 'first', 'second one']) {
      const reply = await server.json('/v1/chat/completions', {...CHAT, model});
      assert.equal(reply.choices[0].message.content, ANSWER);
      const other = model === 'first' ? 'second one' : 'first';
      assert.deepEqual(await states(server), {[model]: 'ready', [other]: 'unloaded'});
    }
    assert.equal(await server.stop(), 0);
  });

  test('one that cannot be loaded fails alone', async () => {
    fs.writeFileSync(path.join(models, 'broken.gguf'), 'GGUF');
    const server = await startServer(`good=${MODEL_FILE}`, '--models-dir', models);
    const response = await server.post('/v1/chat/completions', {...CHAT, model: 'broken'});
    assert.ok(response.status >= 400, `${response.status}`);
    assert.match((await response.json()).error.message, /broken/);
    assert.equal((await states(server)).broken, 'failed');
    assert.equal(await answerOf(await server.post('/v1/chat/completions', {...CHAT, model: 'good'})), ANSWER);
    assert.equal(await server.stop(), 0);
    fs.rmSync(path.join(models, 'broken.gguf'));
  });

  test('a first model that cannot be loaded ends the server with an error', async () => {
    const broken = path.join(folder, 'broken.gguf');
    fs.writeFileSync(broken, 'GGUF');
    const server = await startUnready(broken).catch((error) => error);
    const exit = server instanceof Error ? server.message : await server.ended().then((e) => `${JSON.stringify(e)} ${server.stderr}`);
    assert.match(exit, /"code":[1-9]/);
    assert.match(exit, /broken\.gguf/);
  });
});

describe('API keys', () => {
  let server;
  before(async () => {
    const file = path.join(folder, 'keys');
    const hash = createHash('sha256').update('hidden-key').digest('hex');
    fs.writeFileSync(file, `# of the team\n\nplain-key\nsha256:${hash}\n`);
    server = await startServer('--api-keys', file, '--max-requests-per-key', '2', ...LONG_CONTEXT);
  });
  after(async () => assert.equal(await server.stop(), 0));
  const clientOf = (apiKey) => new OpenAI({baseURL: `${server.url}/v1`, apiKey, maxRetries: 0});

  test('plain and hashed ones open the door, others get 401', async () => {
    for (const key of ['plain-key', 'hidden-key']) assert.equal((await clientOf(key).models.list()).data.length, 1);
    const hash = createHash('sha256').update('hidden-key').digest('hex');
    for (const key of ['plain-ke', 'plain-key2', `sha256:${hash}`, hash, '# of the team']) {
      await assert.rejects(clientOf(key).models.list(), (e) => e instanceof OpenAI.AuthenticationError && e.code === 'invalid_api_key');
    }
    const response = await fetch(`${server.url}/v1/models`);
    assert.equal(response.status, 401);
    assert.equal(response.headers.get('www-authenticate'), 'Bearer');
    assert.equal((await fetch(`${server.url}/v1/models`, {headers: {Authorization: 'bearer plain-key'}})).status, 200);
  });

  test('health needs none, metrics do', async () => {
    for (const route of ['/livez', '/readyz', '/health']) assert.equal((await fetch(server.url + route)).status, 200);
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
  });

  test('a key has so many requests at once, another key its own', async () => {
    const authorization = {Authorization: 'Bearer plain-key'};
    const aborts = [];
    for (let i = 0; i < 2; ++i) {
      const controller = new AbortController();
      aborts.push(controller);
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST', body: JSON.stringify(ENDLESS), headers: authorization, signal: controller.signal});
      assert.equal(response.status, 200);
    }
    assert.equal((await server.post('/v1/chat/completions', CHAT, authorization)).status, 429);
    assert.equal((await server.post('/v1/chat/completions', CHAT, {Authorization: 'Bearer hidden-key'})).status, 200);
    for (const controller of aborts) controller.abort();
    await until(async () => (await server.post('/v1/chat/completions', CHAT, authorization)).status === 200, 'the key to be free');
  });

  test('do not share cached prefixes', async () => {
    const body = {messages: [{role: 'user', content: 'The secret code is 5529. '.repeat(12)}], max_tokens: 2};
    const cached = async (key) =>
        (await server.json('/v1/chat/completions', body, {Authorization: `Bearer ${key}`})).usage.prompt_tokens_details.cached_tokens;
    assert.equal(await cached('plain-key'), 0);
    assert.ok((await cached('plain-key')) > 0);
    assert.equal(await cached('hidden-key'), 0);
  });
});

describe('CORS', () => {
  const origin = 'https://chat.example';
  test('allows the origins that were named, and no others', async () => {
    const server = await startServer('--cors-origin', origin);
    const ask = (from, method = 'GET') => fetch(`${server.url}/v1/models`, {method, headers: {Origin: from}});
    const allowed = await ask(origin);
    assert.equal(allowed.headers.get('access-control-allow-origin'), origin);
    assert.match(allowed.headers.get('vary'), /Origin/);
    const preflight = await ask(origin, 'OPTIONS');
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
    assert.match(preflight.headers.get('access-control-allow-headers'), /Authorization/);
    for (const method of ['GET', 'OPTIONS']) {
      assert.equal((await ask('https://evil.example', method)).headers.get('access-control-allow-origin'), null);
    }
    assert.equal(await server.stop(), 0);
  });
  test('allows none by default', async () => {
    const server = await startServer();
    const response = await fetch(`${server.url}/v1/models`, {headers: {Origin: origin}});
    assert.equal(response.headers.get('access-control-allow-origin'), null);
    assert.equal(await server.stop(), 0);
  });
});

describe('TLS', () => {
  let certificate, key;
  before(() => {
    certificate = path.join(folder, 'cert.pem');
    key = path.join(folder, 'key.pem');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                             '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
                 {stdio: 'ignore'});
  });
  const request = (url, body) => new Promise((resolve, reject) => {
    const options = {method: body ? 'POST' : 'GET', ca: fs.readFileSync(certificate), agent: new https.Agent({keepAlive: false})};
    const call = https.request(url, options, (response) => {
      let text = '';
      response.on('data', (piece) => (text += piece));
      response.on('end', () => resolve({status: response.statusCode, text}));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end(body && JSON.stringify(body));
  });

  test('serves whole answers and streams to a client that checks the certificate', async () => {
    const server = await startUnready('--tls-cert', certificate, '--tls-key', key);
    assert.match(server.url, /^https:/);
    await until(async () => (await request(`${server.url}/readyz`)).status === 200, 'the model');
    const whole = await request(`${server.url}/v1/chat/completions`, CHAT);
    assert.equal(JSON.parse(whole.text).choices[0].message.content, ANSWER);
    const streams = await Promise.all(Array.from({length: 8}, () => request(`${server.url}/v1/chat/completions`, {...CHAT, stream: true})));
    for (const {text} of streams) assert.ok(text.endsWith('data: [DONE]\n\n'));
    await assert.rejects(fetch(server.url.replace('https', 'http')));  // plain HTTP on a TLS port
    assert.equal((await request(`${server.url}/livez`)).status, 200);
    assert.equal(await server.stop(), 0);
  });

  test('half of a key pair, or a wrong one, is refused at the start', () => {
    for (const args of [['--tls-cert', certificate], ['--tls-cert', key, '--tls-key', key]]) {
      assert.throws(() => execFileSync(REALIZAR, ['serve', '--port', '0', ...args], {stdio: 'pipe'}),
                    (e) => e.status === 1 && /^realizar: /.test(e.stderr));
    }
  });
});

test('a port that is taken is an error that says so', async () => {
  const server = await startServer();
  const port = new URL(server.url).port;
  assert.throws(() => execFileSync(REALIZAR, ['serve', '--port', port], {stdio: 'pipe'}),
                (e) => e.status === 1 && e.stderr.includes(port));
  assert.equal(await server.stop(), 0);
});
