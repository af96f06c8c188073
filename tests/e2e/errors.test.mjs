// Errors are reported in OpenAI's error object: the right status, the field, a helpful message.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import OpenAI from 'openai';
import {CAPITAL, ENDLESS, LONG_CONTEXT, MODEL, serveFile, startServer, until} from './server.mjs';

const server = await serveFile('--max-body-bytes', '100000', '--strict-model-names');

async function refused(response, status, {param = null, code = null, message = /./} = {}) {
  const {error} = await response.json();
  assert.equal(response.status, status, JSON.stringify(error));
  assert.equal(error.param, param);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  assert.ok(error.type);
}
const chat = (fields) => server.post('/v1/chat/completions', {messages: CAPITAL, ...fields});

test('an unknown model is 404 model_not_found', async () => {
  for (const route of ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses', '/tokenize']) {
    await refused(await server.post(route, {model: 'gpt-9', messages: CAPITAL, prompt: 'x', input: 'x'}), 404,
                  {param: 'model', code: 'model_not_found', message: /gpt-9/});
  }
  const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});
  await assert.rejects(client.chat.completions.create({model: 'gpt-9', messages: CAPITAL}), OpenAI.NotFoundError);
});

describe('a wrong value is 400 and names its field', () => {
  const wrong = {
    model: 7, temperature: 'hot', top_p: 2, top_k: 1.5, min_p: -1, n: 0, seed: 'x', stop: 5, stop_token_ids: ['x'],
    max_tokens: -2, max_completion_tokens: 'many', stream: 'yes', stream_options: 1, logprobs: 3, top_logprobs: 21,
    logit_bias: [7], frequency_penalty: 3, presence_penalty: 'x', messages: 'hello', tools: {}, tool_choice: 'maybe',
    priority: 'high', timeout: -1, ignore_eos: 1, cache_salt: 1, chat_template_kwargs: [], reasoning_effort: 5,
  };
  for (const [param, value] of Object.entries(wrong)) {
    test(`${param}: ${JSON.stringify(value)}`, async () => refused(await chat({[param]: value}), 400, {param}));
  }
  const wrongMessages = [
    ['messages[0]', 'hello'],
    ['messages[0].role', {role: 'king', content: 'x'}],
    ['messages[0].content', {role: 'user'}],
    ['messages[0].content', {role: 'user', content: 5}],
    ['messages[0].content[0]', {role: 'user', content: [{type: 'image_url', image_url: {url: 'x'}}]}],
    ['messages[0].tool_calls[0].function', {role: 'assistant', tool_calls: [{}]}],
  ];
  for (const [param, message] of wrongMessages) {
    test(`${param} of ${JSON.stringify(message)}`, async () => refused(await chat({messages: [message]}), 400, {param}));
  }
  test('prompts and inputs', async () => {
    await refused(await server.post('/v1/completions', {prompt: {}}), 400, {param: 'prompt.prompt_string'});
    await refused(await server.post('/v1/completions', {}), 400, {param: 'prompt'});
    await refused(await server.post('/v1/completions', {prompt: [1, {}]}), 400, {param: 'prompt'});
    await refused(await server.post('/v1/completions', {prompt: 'x', suffix: 'y'}), 400, {param: 'suffix'});
    await refused(await server.post('/v1/embeddings', {input: 5}), 400, {param: 'input'});
    await refused(await server.post('/v1/embeddings', {input: ''}), 400, {param: 'input'});
    await refused(await server.post('/v1/embeddings', {input: 'x', encoding_format: 'int8'}), 400, {param: 'encoding_format'});
    await refused(await server.post('/v1/embeddings', {input: 'x', dimensions: 1000}), 400, {param: 'dimensions'});
    await refused(await server.post('/v1/responses', {}), 400, {param: 'input'});
    await refused(await server.post('/detokenize', {tokens: [99999]}), 400, {param: 'tokens'});
    await refused(await server.post('/tokenize', {}), 400, {param: 'prompt'});
  });
  test('more answers than one request may have', async () => {
    await refused(await server.post('/v1/completions', {prompt: Array(100).fill('x'), n: 20}), 400, {param: 'n', message: /1024/});
  });
  test('token ids that no 32 bits hold are not cut to ones that exist', async () => {
    const huge = 2 ** 32 + 5;
    await refused(await server.post('/v1/completions', {prompt: [huge]}), 400, {param: 'prompt'});
    await refused(await server.post('/v1/embeddings', {input: [huge]}), 400, {param: 'input'});
    await refused(await server.post('/v1/completions', {prompt: 'x', stop_token_ids: [huge]}), 400, {param: 'stop_token_ids'});
  });
});

test('a prompt beyond the context is 400 context_length_exceeded with both numbers', async () => {
  const content = 'What is the capital of France? '.repeat(200);
  const {count} = await server.json('/tokenize', {messages: [{role: 'user', content}]});
  assert.ok(count > 1024);
  await refused(await chat({messages: [{role: 'user', content}]}), 400,
                {param: 'messages', code: 'context_length_exceeded', message: new RegExp(`\\b${count}\\b.*\\b1024\\b`)});
});

test('what is not JSON is 400 and says where', async () => {
  await refused(await server.post('/v1/chat/completions', '{"messages": '), 400, {message: /not JSON/});
  await refused(await server.post('/v1/chat/completions', ''), 400, {message: /not JSON/});
  await refused(await server.post('/v1/chat/completions', '[1]'), 400, {message: /not a JSON object/});
  await refused(await server.post('/v1/chat/completions', '['.repeat(5000)), 400, {message: /deeper than 100/});
  await refused(await server.post('/v1/chat/completions', '{"a": 1e999}'), 400);
  await refused(await server.post('/v1/chat/completions', Buffer.from('{"\xff": 1}', 'latin1')), 400, {message: /not JSON/});
});

test('a body beyond the limit is 413', async () => {
  await refused(await server.post('/v1/chat/completions', ' '.repeat(100001)), 413, {message: /100000 bytes/});
});

test('the wrong method is 405 and names the right one', async () => {
  const response = await fetch(`${server.url}/v1/chat/completions`);
  assert.equal(response.headers.get('allow'), 'POST, OPTIONS');
  await refused(response, 405, {code: 'method_not_allowed', message: /POST/});
  await refused(await fetch(`${server.url}/v1/embeddings`), 405, {code: 'method_not_allowed'});
  await refused(await fetch(`${server.url}/v1/models/${MODEL}`, {method: 'DELETE'}), 405, {code: 'method_not_allowed'});
});

test('an unknown path is 404', async () => {
  await refused(await fetch(`${server.url}/v1/nothing`), 404, {code: 'not_found', message: /\/v1\/nothing/});
});

test('a full queue is 429 with Retry-After, and the others are answered', async () => {
  const small = await startServer('--max-seqs', '2', '--max-queue', '4', ...LONG_CONTEXT);
  const post = (body, options = {}) => fetch(`${small.url}/v1/chat/completions`, {method: 'POST', body: JSON.stringify(body), ...options});
  const n = async (state, expected) => until(async () => (await small.metric(`vllm:num_requests_${state}`)) === expected, `${expected} ${state}`);
  const leaving = new AbortController();
  await Promise.all([1, 2].map(() => post(ENDLESS, {signal: leaving.signal})));
  await n('running', 2);
  const options = {messages: CAPITAL, max_tokens: 20, ignore_eos: true, temperature: 0};
  const waiting = [1, 2, 3, 4].map(() => post(options));
  await n('waiting', 4);
  for (const response of await Promise.all(Array.from({length: 40}, () => post(options)))) {
    assert.equal(response.headers.get('retry-after'), '1');
    await refused(response, 429, {code: 'rate_limit_exceeded'});
  }
  leaving.abort();
  const texts = await Promise.all(waiting.map(async (response) => (await (await response).json()).choices[0].message.content));
  assert.equal(new Set(texts).size, 1);
  assert.equal(await small.stop(), 0);
});

test('a deadline that passes is 504', async () => {
  await refused(await chat({timeout: 0.02, n: 32, ignore_eos: true}), 504, {code: 'timeout'});
});
