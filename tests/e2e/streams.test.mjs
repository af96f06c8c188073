// Many requests at once, streams that their clients abandon, and prompts that share their beginning.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import OpenAI from 'openai';
import {LONG, MODEL, serveFile, until} from './server.mjs';

const server = await serveFile();
const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});

const idle = async () => (await server.metric('vllm:num_requests_running')) === 0 &&
    (await server.metric('vllm:num_requests_waiting')) === 0;

const aborts = () => server.metric('vllm:request_success_total{finished_reason="abort",model_name="realizar-tiny"}');

test('a stream that its client leaves ends before its end, and gives its memory back', async () => {
  const before = await aborts();
  const {messages, ...options} = LONG;
  const stream = await client.chat.completions.create({...options, messages});
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break;  // leaving the loop aborts the request
  }
  await until(idle, 'no running request');
  await until(async () => (await server.metric('vllm:kv_cache_usage_perc')) === 0, 'free KV blocks');
  assert.equal(await aborts(), before + 1);
});

test('so does a whole answer that nobody waits for any more', async () => {
  const before = await aborts();
  const controller = new AbortController();
  const answer = client.chat.completions.create({...LONG, stream: false}, {signal: controller.signal});
  await until(async () => (await server.metric('vllm:num_requests_running')) > 0, 'the request to run');
  controller.abort();
  await assert.rejects(answer, OpenAI.APIUserAbortError);
  await until(idle, 'no running request');
  assert.equal(await aborts(), before + 1);
});

test('many requests at once each get what they get alone', async () => {
  const questions = [
    'What is the capital of France?', 'What is 10 minus 10?', 'What does the duck say?', 'Tell me a story.',
    'Give me the opposite of sad.', 'What is the capital of Finland?', 'What is 3 plus 4?', 'What can you do?',
  ];
  const ask = async (i, stream) => {
    const response = await client.chat.completions.create({
      model: MODEL, seed: i, temperature: 0.9, max_tokens: 48, stream,
      messages: [{role: 'user', content: questions[i % questions.length]}],
    });
    if (!stream) return response.choices[0].message.content;
    let text = '';
    for await (const chunk of response) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  };
  const alone = [];
  for (let i = 0; i < 48; ++i) alone.push(await ask(i, false));
  const together = await Promise.all(alone.map((_, i) => ask(i, i % 2 === 0)));
  assert.deepEqual(together, alone);
});

test('a second turn finds the first in the prefix cache, and answers as it would without', async () => {
  const story = 'One day, a bear named Felix went for a walk. The secret code is 5529. '.repeat(4);
  const messages = [{role: 'user', content: `${story}\nWhat is the secret code?`}];
  const ask = (extra) => client.chat.completions.create({model: MODEL, temperature: 0, messages, ...extra});
  const first = await ask();
  messages.push(first.choices[0].message, {role: 'user', content: 'What is the capital of France?'});
  const second = await ask();
  const {cached_tokens} = second.usage.prompt_tokens_details;
  assert.ok(cached_tokens >= first.usage.prompt_tokens - 32, `${cached_tokens} of ${first.usage.prompt_tokens}`);
  const salted = await ask({cache_salt: 'another'});
  assert.equal(salted.usage.prompt_tokens_details.cached_tokens, 0);
  assert.equal(salted.choices[0].message.content, second.choices[0].message.content);
  assert.ok((await server.metric('vllm:prefix_cache_hits_total')) >= cached_tokens);
});
