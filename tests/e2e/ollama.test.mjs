// Ollama's API: its own client uses all of it, and Open WebUI's requests are made by plain fetch.
import assert from 'node:assert/strict';
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {after, before, describe, test} from 'node:test';
import {Ollama} from 'ollama';
import {ANSWER, CAPITAL, MODEL, MODEL_FILE, QUESTION, WEATHER, collect, serveFile, startServer, until} from './server.mjs';

const messages = CAPITAL;
const options = {temperature: 0};
const TOOL = {type: 'function', function: WEATHER};
const server = await serveFile('--alias', `${MODEL}=tiny`);
const client = new Ollama({host: server.url});

// Fields in the last line of any answer.
const checkEnd = (last, reason = 'stop') => {
  assert.equal(last.done, true);
  assert.equal(last.done_reason, reason);
  for (const name of ['total_duration', 'load_duration', 'prompt_eval_count', 'prompt_eval_duration', 'eval_count', 'eval_duration']) {
    assert.ok(Number.isInteger(last[name]) && last[name] >= 0, `${name}: ${last[name]}`);
  }
  assert.ok(last.total_duration >= last.prompt_eval_duration + last.eval_duration);
  assert.match(last.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
};
const rejectsWith = (status, pattern) => (error) => error.status_code === status && pattern.test(error.message);

describe('chat', () => {
  test('whole', async () => {
    const reply = await client.chat({model: MODEL, messages, options});
    assert.deepEqual(reply.message, {role: 'assistant', content: ANSWER});
    assert.equal(reply.model, MODEL);
    checkEnd(reply);
  });

  test('streamed: the same text in parts, and the counts in the last one alone', async () => {
    const parts = await collect(await client.chat({model: `${MODEL}:latest`, messages, options, stream: true}));
    assert.ok(parts.length > 1);
    assert.equal(parts.map((part) => part.message.content).join(''), ANSWER);
    for (const part of parts.slice(0, -1)) {
      assert.equal(part.done, false);
      assert.equal(part.done_reason, undefined);
      assert.equal(part.eval_count, undefined);
    }
    checkEnd(parts.at(-1));
    assert.equal(parts.at(-1).model, `${MODEL}:latest`);
  });

  test('a limit ends with length', async () => {
    const reply = await client.chat({model: MODEL, messages, options: {...options, num_predict: 3}});
    checkEnd(reply, 'length');
    assert.equal(reply.eval_count, 3);
    assert.ok(ANSWER.startsWith(reply.message.content));
  });

  test('log-probabilities', async () => {
    const reply = await client.chat({model: MODEL, messages, options, logprobs: true, top_logprobs: 2});
    assert.equal(reply.logprobs.map((token) => token.token).join(''), ANSWER);
    assert.equal(reply.logprobs[0].top_logprobs.length, 2);
    assert.deepEqual(Buffer.from(reply.logprobs[0].bytes).toString(), reply.logprobs[0].token);
    const parts = await collect(await client.chat({model: MODEL, messages, options, logprobs: true, stream: true}));
    assert.equal(parts.flatMap((part) => part.logprobs ?? []).map((token) => token.token).join(''), ANSWER);
  });

  test('a JSON Schema and "json" bind the answer', async () => {
    const format = {type: 'object', properties: {city: {enum: ['Paris', 'Lima']}}, required: ['city'], additionalProperties: false};
    const formed = await client.chat({model: MODEL, messages, options, format});
    assert.ok(['Paris', 'Lima'].includes(JSON.parse(formed.message.content).city));
    const json = await client.chat({model: MODEL, messages, options: {...options, num_predict: 300}, format: 'json'});
    assert.match(json.message.content, /^\s*\{/);
  });

  test('a call has its arguments as an object, and its result is taken', async () => {
    const asked = {model: MODEL, messages: [{role: 'user', content: 'What is the weather in Paris?'}], options, tools: [TOOL]};
    const openai = await server.json('/v1/chat/completions', {...asked, options: undefined, temperature: 0});
    const whole = await client.chat(asked);
    const streamed = await collect(await client.chat({...asked, stream: true}));
    const calls = (openai.choices[0].message.tool_calls ?? []).map(({function: {name, arguments: text}}, index) => ({
      index, name, arguments: JSON.parse(text)}));
    assert.ok(calls.length > 0, 'the bundled model calls this tool');
    assert.deepEqual(whole.message.tool_calls.map((call) => call.function), calls);
    assert.deepEqual(streamed.flatMap((part) => part.message.tool_calls ?? []).map((call) => call.function), calls);
    assert.equal(whole.done_reason, 'stop');
    const next = await client.chat({
      ...asked,
      messages: [...asked.messages, whole.message, {role: 'tool', tool_name: 'get_weather', content: '{"weather": "sunny"}'}],
    });
    assert.ok(next.message.content.length > 0);
  });

  test('a chat that is too long loses its oldest messages, unless it must not', async () => {
    const long = [{role: 'user', content: 'word '.repeat(100)}, {role: 'assistant', content: 'Yes.'}, ...messages];
    const bounded = {...options, num_ctx: 64};
    const reply = await client.chat({model: MODEL, messages: long, options: bounded});
    assert.ok(reply.prompt_eval_count < 64);
    const response = await server.post('/api/chat', {model: MODEL, messages: long, options: bounded, truncate: false});
    assert.equal(response.status, 400);
    assert.match((await response.json()).error, /64/);
  });

  test('with shift an answer goes on beyond the context, the same whole and streamed', async () => {
    const bounded = {...options, num_ctx: 64, num_predict: 150, seed: 1, temperature: 1};
    const format = {type: 'array', items: {type: 'integer'}, minItems: 100};
    const ended = await client.chat({model: MODEL, messages, options: bounded, format});
    checkEnd(ended, 'length');
    assert.equal(ended.prompt_eval_count + ended.eval_count, 64);
    const body = {model: MODEL, messages, options: bounded, format, shift: true};
    const whole = await server.json('/api/chat', {...body, stream: false});
    checkEnd(whole, 'length');
    assert.equal(whole.eval_count, 150);
    assert.equal(whole.prompt_eval_count, ended.prompt_eval_count);
    assert.ok(whole.message.content.startsWith(ended.message.content));
    assert.match(whole.message.content, /^\s*\[[-\d,\s]*$/, 'the form binds all of it');
    const again = await Promise.all([1, 2, 3].map(async () => {
      const lines = (await (await server.post('/api/chat', body)).text()).trim().split('\n');
      return lines.map((line) => JSON.parse(line).message.content).join('');
    }));
    assert.deepEqual(again, Array(3).fill(whole.message.content));
    const one = await server.json('/api/chat', {...body, stream: false, options: {...bounded, num_predict: 3}});
    assert.equal(one.eval_count, 3);
  });

  test('what the model would read is shown in place of an answer', async () => {
    const {_debug_info: {rendered_template: text}} = await server.json('/api/chat', {model: MODEL, messages, _debug_render_only: true});
    const {prompt} = await server.json('/apply-template', {messages});
    assert.equal(text, prompt);
    const generated = await server.json('/api/generate', {model: MODEL, prompt: 'as it is', raw: true, _debug_render_only: true});
    assert.equal(generated._debug_info.rendered_template, 'as it is');
  });

  test('an abort ends the generation', async () => {
    const own = new Ollama({host: server.url});
    const format = {type: 'array', items: {type: 'integer'}, minItems: 450};
    const aborts = async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      return Number(metrics.match(/^vllm:request_success_total\{.*"abort".*\} (\d+)/m)?.[1] ?? 0);
    };
    const before = await aborts();
    const stream = await own.chat({model: MODEL, messages, options, format, stream: true});
    await assert.rejects(async () => {
      for await (const part of stream) if (part.message.content) own.abort();
    }, {name: 'AbortError'});
    await until(async () => (await aborts()) === before + 1, 'the end of the generation');
  });

  test('no messages load the model', async () => {
    const reply = await client.chat({model: MODEL, messages: []});
    assert.equal(reply.done_reason, 'load');
    assert.equal(reply.message.content, '');
  });
});

describe('one request in every dialect gives the same tokens', () => {
  for (const seed of [1, 2, 3]) {
    test(`seed ${seed}`, async () => {
      const sampling = {seed, temperature: 1.2, top_k: 30, top_p: 0.9, repeat_penalty: 1.1};
      const openai = await server.json('/v1/chat/completions', {model: MODEL, messages, max_tokens: 40, ...sampling});
      const text = openai.choices[0].message.content;
      const body = {model: MODEL, options: {...sampling, num_predict: 40}};
      const chat = await client.chat({...body, messages});
      assert.equal(chat.message.content, text);
      assert.equal(chat.prompt_eval_count, openai.usage.prompt_tokens);
      assert.equal(chat.eval_count, openai.usage.completion_tokens);
      assert.equal((await client.generate({...body, prompt: QUESTION})).response, text);
      const raw = await client.generate({...body, prompt: 'The capital of', raw: true});
      const completion = await server.json('/v1/completions', {model: MODEL, prompt: 'The capital of', max_tokens: 40, ...sampling});
      assert.equal(raw.response, completion.choices[0].text);
    });
  }
});

describe('generate', () => {
  test('whole and streamed', async () => {
    const reply = await client.generate({model: MODEL, prompt: QUESTION, options});
    assert.equal(reply.response, ANSWER);
    checkEnd(reply);
    const parts = await collect(await client.generate({model: MODEL, prompt: QUESTION, options, stream: true}));
    assert.equal(parts.map((part) => part.response).join(''), ANSWER);
    checkEnd(parts.at(-1));
    assert.deepEqual(parts.at(-1).context, reply.context);
  });

  test('the context of an answer goes before the next prompt', async () => {
    const first = await client.generate({model: MODEL, prompt: QUESTION, options});
    assert.equal(first.context.length, first.prompt_eval_count + first.eval_count);
    const alone = await client.generate({model: MODEL, prompt: 'And of Peru?', options});
    const next = await client.generate({model: MODEL, prompt: 'And of Peru?', options, context: first.context});
    assert.equal(next.prompt_eval_count, first.context.length + alone.prompt_eval_count);
    const raw = await client.generate({model: MODEL, prompt: 'The', options: {...options, num_predict: 2}, raw: true});
    assert.equal(raw.context, undefined);
  });

  test('a template and a system message make the prompt', async () => {
    const template = '{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n{{ .Response }}';
    const own = await client.generate({model: MODEL, prompt: QUESTION, options});
    const spelled = await client.generate({model: MODEL, prompt: QUESTION, options, template});
    assert.deepEqual(spelled.context, own.context);
    const system = await client.generate({model: MODEL, prompt: QUESTION, options, template, system: 'Be brief.'});
    const chat = await client.chat({model: MODEL, options, messages: [{role: 'system', content: 'Be brief.'}, ...messages]});
    assert.equal(system.prompt_eval_count, chat.prompt_eval_count);
    assert.equal(system.response, chat.message.content);
  });

  test('what it cannot do is said', async () => {
    await assert.rejects(client.generate({model: MODEL, prompt: 'a', suffix: 'b'}), rejectsWith(400, /does not support insert/));
    await assert.rejects(client.generate({model: MODEL, prompt: 'a', think: true}), rejectsWith(400, /does not support thinking/));
    await assert.rejects(client.generate({model: MODEL, prompt: 'a', images: ['aGk=']}), rejectsWith(400, /images/));
    await assert.rejects(client.generate({model: MODEL, prompt: 'a', raw: true, system: 's'}), rejectsWith(400, /raw/));
    await assert.rejects(client.generate({model: MODEL, prompt: 'a', template: '{{ template "other" }}'}), rejectsWith(400, /template/));
  });
});

describe('embeddings', () => {
  test('embed gives vectors of the length 1, those of /v1', async () => {
    const input = ['water', 'a stone'];
    const {embeddings, prompt_eval_count, total_duration} = await client.embed({model: MODEL, input});
    const openai = await server.json('/v1/embeddings', {model: MODEL, input});
    assert.deepEqual(embeddings, openai.data.map((item) => item.embedding));
    assert.equal(prompt_eval_count, openai.usage.prompt_tokens);
    assert.ok(total_duration > 0);
    const one = await client.embed({model: MODEL, input: 'water'});
    assert.deepEqual(one.embeddings, [embeddings[0]]);
    assert.deepEqual((await client.embed({model: MODEL, input: []})).embeddings, []);
    const short = await client.embed({model: MODEL, input: 'water', dimensions: 8});
    assert.equal(short.embeddings[0].length, 8);
    assert.ok(Math.abs(Math.hypot(...short.embeddings[0]) - 1) < 1e-5);
  });

  test('a text that is too long is cut, unless it must not', async () => {
    const input = 'word '.repeat(5000);
    const {prompt_eval_count} = await client.embed({model: MODEL, input});
    const {model_info} = await client.show({model: MODEL});
    assert.equal(prompt_eval_count, model_info[`${model_info['general.architecture']}.context_length`]);
    await assert.rejects(client.embed({model: MODEL, input, truncate: false}), rejectsWith(400, /context/));
  });

  test('the old route', async () => {
    const {embedding} = await client.embeddings({model: MODEL, prompt: 'water'});
    assert.deepEqual([embedding], (await client.embed({model: MODEL, input: 'water'})).embeddings);
  });
});

describe('models', () => {
  test('list and show', async () => {
    const {models} = await client.list();
    assert.deepEqual(models.map((model) => model.name), [`${MODEL}:latest`, 'tiny:latest']);
    const [model] = models;
    assert.match(model.digest, /^[0-9a-f]{64}$/);
    assert.ok(model.size > 1e6);
    assert.equal(model.details.format, 'gguf');
    assert.equal(model.details.quantization_level, 'Q8_0');
    const shown = await client.show({model: 'tiny'});
    assert.ok(shown.capabilities.includes('completion') && shown.capabilities.includes('tools'));
    assert.equal(shown.model_info['general.architecture'], model.details.family);
    assert.equal(shown.model_info['tokenizer.ggml.tokens'], null);
    assert.match(shown.template, /im_start/);
    assert.match(shown.modelfile, /^FROM /);
    assert.ok(!Number.isNaN(Date.parse(shown.modified_at)));
    const verbose = await client.show({model: MODEL, verbose: true});
    assert.ok(verbose.model_info['tokenizer.ggml.tokens'].length > 100);
  });

  test('keep_alive unloads a model, and the next request loads it', async () => {
    const before = Date.now();
    await client.generate({model: MODEL, prompt: '', keep_alive: '10m'});
    const [running] = (await client.ps()).models;
    const lasts = Date.parse(running.expires_at) - 600_000;
    assert.equal(running.name, `${MODEL}:latest`);
    assert.ok(running.size > 1e6);
    assert.ok(before - 1000 <= lasts && lasts <= Date.now() + 1000, running.expires_at);
    // Open WebUI's way.
    const reply = await server.json('/api/generate', {model: MODEL, prompt: '', keep_alive: 0});
    assert.equal(reply.done_reason, 'unload');
    await until(async () => (await client.ps()).models.length === 0, 'the unloading');
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200, 'it still answers');
    const again = await client.generate({model: MODEL, prompt: '', keep_alive: 0});
    assert.equal(again.done_reason, 'unload');
    assert.equal((await client.ps()).models.length, 0, 'unloading loads nothing');
    const chat = await client.chat({model: MODEL, messages, options});
    assert.equal(chat.message.content, ANSWER);
    assert.ok(chat.load_duration > 0);
    assert.equal((await client.ps()).models.length, 1);
    await client.chat({model: MODEL, messages, options, keep_alive: 0});
    await until(async () => (await client.ps()).models.length === 0, 'the unloading after the answer');
    const openai = await server.json('/v1/chat/completions', {model: MODEL, messages, temperature: 0});
    assert.equal(openai.choices[0].message.content, ANSWER);
  });

  test('copy and delete', async () => {
    await client.copy({source: MODEL, destination: 'twin'});
    assert.ok((await client.list()).models.some((model) => model.name === 'twin:latest'));
    assert.equal((await client.chat({model: 'twin', messages, options})).message.content, ANSWER);
    await client.delete({model: 'Twin:latest'});
    await assert.rejects(client.chat({model: 'twin', messages}), rejectsWith(404, /model 'twin' not found/));
    await assert.rejects(client.delete({model: 'twin'}), rejectsWith(404, /not found/));
    await assert.rejects(client.delete({model: MODEL}), rejectsWith(400, /stays/));
    await assert.rejects(client.copy({source: 'nobody', destination: 'x'}), rejectsWith(404, /not found/));
    await assert.rejects(client.copy({source: MODEL, destination: 'tiny'}), rejectsWith(400, /keeps its name/));
  });

  test('create: a model with a system message, a template and parameters of its own', async () => {
    const system = 'Answer in one word.';
    const created = await collect(await client.create({
      model: 'brief', from: MODEL, system, parameters: {temperature: 0, num_predict: 4, stop: ['Lima']}, stream: true}));
    assert.equal(created.at(-1).status, 'success');
    const chat = await client.chat({model: 'brief', messages});
    assert.equal(chat.eval_count, 4);
    const spelled = await client.chat({model: MODEL, messages: [{role: 'system', content: system}, ...messages], options: {temperature: 0, num_predict: 4}});
    assert.equal(chat.message.content, spelled.message.content);
    assert.equal(chat.prompt_eval_count, spelled.prompt_eval_count);
    const shown = await client.show({model: 'brief'});
    assert.equal(shown.system, system);
    assert.equal(shown.details.parent_model, MODEL);
    assert.match(shown.parameters, /^num_predict 4$/m);
    assert.match(shown.modelfile, /^PARAMETER stop "Lima"$/m);
    await client.create({model: 'plain', from: MODEL, template: '{{ .Prompt }}', parameters: {temperature: 0, num_predict: 4},
      stream: false});
    const plain = await client.generate({model: 'plain', prompt: 'The capital of'});
    const raw = await client.generate({model: MODEL, prompt: 'The capital of', raw: true, options: {temperature: 0, num_predict: 4}});
    assert.equal(plain.response, raw.response);
    await assert.rejects(client.create({model: 'x', from: 'nobody'}), rejectsWith(404, /not found/));
    await assert.rejects(client.create({model: 'x', from: MODEL, template: '{{ end }}'}), rejectsWith(400, /template/));
    await assert.rejects(client.create({model: 'x', from: MODEL, quantize: 'q4_0'}), rejectsWith(400, /quantize/));
  });

  test('pull, push and blobs say that clients may not change the store', async () => {
    assert.deepEqual(await client.pull({model: MODEL}), {status: 'success'});
    assert.equal((await collect(await client.pull({model: MODEL, stream: true}))).at(-1).status, 'success');
    await assert.rejects(client.pull({model: 'llama3.2'}), rejectsWith(403, /--manage-models/));
    await assert.rejects(client.push({model: MODEL}), rejectsWith(400, /not built/));
    const digest = `sha256:${'0'.repeat(64)}`;
    assert.equal((await fetch(`${server.url}/api/blobs/${digest}`, {method: 'HEAD'})).status, 404);
    assert.equal((await server.post(`/api/blobs/${digest}`, 'bytes')).status, 403);
  });

  test('version', async () => {
    const {version} = await client.version();
    assert.ok(version.split('.').every((part) => Number.isInteger(Number(part))), version);
  });
});

describe('a server whose clients may change its store', () => {
  const bytes = readFileSync(MODEL_FILE);
  const digestOf = (data) => `sha256:${createHash('sha256').update(data).digest('hex')}`;
  let folder, registry, managed, own;
  // Answers like Ollama's registry: a manifest, then a blob.
  const answer = (request, response) => {
    const layers = [{mediaType: 'application/vnd.ollama.image.model', digest: digestOf(bytes), size: bytes.length}];
    if (request.url === '/v2/library/there/manifests/latest') return response.end(JSON.stringify({schemaVersion: 2, layers}));
    if (request.url === `/v2/library/there/blobs/${digestOf(bytes)}`) return response.end(bytes);
    response.writeHead(404).end();
  };
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'ollama-store-'));
    registry = createServer(answer).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    managed = await startServer('--manage-models', '--models-store', folder, '--mirror', `http://127.0.0.1:${registry.address().port}`);
    own = new Ollama({host: managed.url});
  });
  after(async () => {
    registry.close();
    assert.equal(await managed.stop(), 0);
    rmSync(folder, {recursive: true, force: true});
  });
  const names = async () => (await own.list()).models.map((model) => model.name);

  test('a model is pulled with progress, used, copied and deleted', async () => {
    const steps = await collect(await own.pull({model: 'there', stream: true}));
    assert.equal(steps[0].status, 'pulling manifest');
    assert.equal(steps.at(-1).status, 'success');
    const last = steps.filter((step) => step.digest === digestOf(bytes)).at(-1);
    assert.deepEqual([last.completed, last.total], [bytes.length, bytes.length]);
    assert.ok((await names()).includes('there:latest'));
    assert.equal((await own.chat({model: 'there', messages, options})).message.content, ANSWER);
    await own.copy({source: 'there', destination: 'mine'});
    await own.delete({model: 'there'});
    await assert.rejects(own.chat({model: 'there', messages}), rejectsWith(404, /not found/));
    assert.equal((await own.chat({model: 'mine', messages, options})).message.content, ANSWER);
    await own.delete({model: 'mine'});
    assert.ok(!(await names()).includes('mine:latest'));
    await assert.rejects(own.pull({model: 'nowhere'}), rejectsWith(404, /does not have it/));
  });

  test('a model is created from an uploaded file', async () => {
    const url = `${managed.url}/api/blobs/${digestOf(bytes)}`;
    assert.equal((await fetch(url, {method: 'HEAD'})).status, 404);
    assert.equal((await fetch(url, {method: 'POST', body: bytes})).status, 201);
    assert.equal((await fetch(url, {method: 'HEAD'})).status, 200);
    const steps = await collect(await own.create({
      model: 'made', files: {'m.gguf': digestOf(bytes)}, system: 'Answer in one word.', parameters: {temperature: 0, num_predict: 4},
      license: 'free', stream: true}));
    assert.equal(steps.at(-1).status, 'success');
    const chat = await own.chat({model: 'made', messages});
    const spelled = await own.chat({model: MODEL, messages: [{role: 'system', content: 'Answer in one word.'}, ...messages], options: {...options, num_predict: 4}});
    assert.deepEqual([chat.message, chat.prompt_eval_count, chat.eval_count], [spelled.message, spelled.prompt_eval_count, spelled.eval_count]);
    const openai = await managed.json('/v1/chat/completions', {model: 'made', messages, max_tokens: 4});
    assert.equal(openai.choices[0].message.content, chat.message.content);
    const shown = await own.show({model: 'made'});
    assert.deepEqual([shown.system, shown.license], ['Answer in one word.', 'free']);
    assert.match(shown.parameters, /^num_predict 4$/m);
  });
});

describe('errors have the shape that clients show', () => {
  const wrong = [
    ['/api/chat', {messages}, 400, /model is required/],
    ['/api/chat', '', 400, /missing request body/],
    ['/api/chat', '{', 400, /JSON/],
    ['/api/chat', '[]', 400, /object/],
    ['/api/chat', {model: 7, messages}, 400, /model/],
    ['/api/chat', {model: 'nobody', messages}, 404, /^model 'nobody' not found$/],
    ['/api/chat', {model: MODEL, messages: 'hello'}, 400, /messages/],
    ['/api/chat', {model: MODEL, messages: [7]}, 400, /messages\[0\]/],
    ['/api/chat', {model: MODEL, messages: [{role: 'king', content: 'x'}]}, 400, /role/],
    ['/api/chat', {model: MODEL, messages: [{role: 'user', content: 'x', images: ['aGk=']}]}, 400, /images/],
    ['/api/chat', {model: MODEL, messages, stream: 'yes'}, 400, /stream/],
    ['/api/chat', {model: MODEL, messages, options: {temperature: 'hot'}}, 400, /options.temperature/],
    ['/api/chat', {model: MODEL, messages, options: {top_p: 7}}, 400, /top_p/],
    ['/api/chat', {model: MODEL, messages, format: 'yaml'}, 400, /format/],
    ['/api/chat', {model: MODEL, messages, think: 'very'}, 400, /think/],
    ['/api/chat', {model: MODEL, messages, keep_alive: 'soon'}, 400, /keep_alive/],
    ['/api/chat', {model: MODEL, messages, top_logprobs: 30}, 400, /must be between 0 and 20/],
    ['/api/chat', {model: MODEL, messages, tools: {}}, 400, /tools/],
    ['/api/generate', {model: MODEL, prompt: ['a']}, 400, /prompt/],
    ['/api/generate', {model: MODEL, prompt: 'a', context: ['a']}, 400, /context/],
    ['/api/generate', {model: MODEL, prompt: 'a', context: [99999999]}, 400, /context/],
    ['/api/embed', {model: MODEL, input: {a: 1}}, 400, /input/],
    ['/api/embed', {model: MODEL, input: ['a', 7]}, 400, /input/],
    ['/api/embed', {input: 'a'}, 400, /model is required/],
    ['/api/embeddings', {model: MODEL, prompt: 7}, 400, /prompt/],
    ['/api/show', {}, 400, /model is required/],
    ['/api/show', {model: [1]}, 400, /model/],
    ['/api/show', {model: 'nobody'}, 404, /not found/],
    ['/api/copy', {source: MODEL}, 400, /destination/],
    ['/api/copy', {source: MODEL, destination: 'a b'}, 400, /invalid model name/],
    ['/api/create', {model: 'x', from: MODEL, parameters: []}, 400, /parameters/],
    ['/api/create', {model: 'x', from: MODEL, messages: [{images: ['x']}]}, 400, /images/],
    ['/api/pull', {}, 400, /model is required/],
    ['/api/nothing', {}, 404, /api\/nothing/],
    ['/api/tags', {}, 405, /GET/],
  ];
  for (const [path, body, status, pattern] of wrong) {
    test(`${path} ${JSON.stringify(body).slice(0, 80)}`, async () => {
      const response = await server.post(path, body);
      const json = await response.json();
      assert.equal(response.status, status, json.error);
      assert.deepEqual(Object.keys(json), ['error']);
      assert.match(json.error, pattern);
      assert.match(response.headers.get('content-type'), /^application\/json/);
    });
  }

  test('an option that is not built is told in a header', async () => {
    const response = await server.post('/api/chat', {model: MODEL, messages, stream: false, options: {temperature: 0, num_gpu: 3}});
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-realizar-warning'), null);
  });
});

describe("Open WebUI's calls", () => {
  const headers = {'X-OpenWebUI-User-Name': 'someone'};
  const get = async (path) => (await fetch(server.url + path, {headers})).json();

  test('it finds the server and its models', async () => {
    assert.equal(await (await fetch(server.url)).text(), 'Ollama is running');
    assert.equal((await fetch(server.url, {method: 'HEAD'})).status, 200);
    assert.equal((await fetch(`${server.url}/api/version`, {method: 'HEAD'})).status, 200);
    const {version} = await get('/api/version');
    assert.ok(version.split('.').map(Number).every(Number.isInteger));
    const {models} = await get('/api/tags');
    assert.ok(models.every((model) => model.name.includes(':') && model.model === model.name));
    assert.ok(Array.isArray((await get('/api/ps')).models));
  });

  test('programs whose windows are pages may call, extensions where they are named', async () => {
    for (const [origin, status] of [['app://obsidian.md', 200], ['vscode-webview://1a2b', 200], ['tauri://localhost', 200],
                                    ['chrome-extension://abc', 403], ['https://evil.example', 403]]) {
      const response = await server.post('/api/show', {model: MODEL}, {Origin: origin});
      assert.equal(response.status, status, origin);
      assert.equal(response.headers.get('access-control-allow-origin'), status === 200 ? origin : null);
    }
  });

  test('it streams a chat of a name with its tag, in lines', async () => {
    const response = await server.post('/api/chat', {model: 'tiny:latest', messages, options, stream: true}, headers);
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
    const lines = (await response.text()).split('\n');
    assert.equal(lines.pop(), '', 'each line is ended');
    const parts = lines.map((line) => JSON.parse(line));
    assert.equal(parts.map((part) => part.message.content).join(''), ANSWER);
    checkEnd(parts.at(-1));
  });

  test('streams unless it is told not to', async () => {
    const response = await server.post('/api/generate', {model: MODEL, prompt: QUESTION, options});
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
    const lines = (await response.text()).trim().split('\n').map((line) => JSON.parse(line));
    assert.ok(lines.length > 1, 'tokens that are there together share a line');
    assert.deepEqual(lines.map((line) => line.done), lines.map((_, i) => i === lines.length - 1));
  });

  test('it pulls with an old field, deletes by an old name', async () => {
    const pulled = await server.post('/api/pull', {name: MODEL, insecure: true});
    assert.match((await pulled.text()).trim().split('\n').at(-1), /"success"/);
    await server.post('/api/copy', {source: MODEL, destination: 'gone'});
    const deleted = await fetch(`${server.url}/api/delete`, {method: 'DELETE', headers, body: JSON.stringify({name: 'gone'})});
    assert.equal(deleted.status, 200);
    assert.equal(await deleted.text(), '');
  });
});

test('where keys are asked for, a made model is its own key\'s, and models stay loaded', async () => {
  const keyed = await startServer('--api-key', 'one', '--api-key', 'two');
  const as = (key) => new Ollama({host: keyed.url, headers: {Authorization: `Bearer ${key}`}});
  await as('one').create({model: 'secret', from: MODEL, system: 'A secret.', stream: false});
  assert.equal((await as('one').list()).models.length, 2);
  assert.equal((await as('two').list()).models.length, 1);
  await assert.rejects(as('two').show({model: 'secret'}), rejectsWith(404, /not found/));
  const reply = await as('one').generate({model: MODEL, prompt: '', keep_alive: 0});
  assert.equal(reply.done_reason, 'load');
  assert.equal((await as('two').ps()).models.length, 1);
  const refused = await fetch(`${keyed.url}/api/tags`);
  assert.equal(refused.status, 401);
  assert.equal(typeof (await refused.json()).error, 'string');
  assert.equal(await keyed.stop(), 0);
});
