// The routes of llama.cpp's server, by plain fetch.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {startServer} from './server.mjs';

const PROMPT = 'The capital of France';
const ASK = {prompt: PROMPT, temperature: 0, n_predict: 12};

let server;
before(async () => (server = await startServer('--no-page')));
after(async () => assert.equal(await server.stop(), 0));

const complete = (fields) => server.json('/completion', {...ASK, ...fields});

async function events(route, body) {
  const response = await server.post(route, {...body, stream: true});
  assert.equal(response.status, 200);
  const text = await response.text();
  const lines = text.split('\n\n').filter((line) => line.startsWith('data: '));
  return lines.map((line) => JSON.parse(line.slice(6)));
}

async function openai(fields = {}) {
  const body = {prompt: PROMPT, temperature: 0, max_tokens: 12, ...fields};
  return (await server.json('/v1/completions', body)).choices[0];
}

test('a completion has the text of /v1/completions and everything that is known of it', async () => {
  const answer = await complete({return_tokens: true});
  assert.equal(answer.content, (await openai()).text);
  assert.equal(answer.tokens.length, answer.tokens_predicted);
  assert.equal((await server.json('/detokenize', {tokens: answer.tokens})).content, answer.content);
  assert.equal(answer.stop, true);
  assert.equal(answer.index, 0);
  assert.equal(answer.prompt, PROMPT);
  assert.equal(answer.truncated, false);
  assert.equal(answer.has_new_line, answer.content.includes('\n'));
  assert.equal(answer.model, 'realizar-tiny');
  const {timings, generation_settings: settings} = answer;
  assert.equal(timings.prompt_n + timings.cache_n, answer.tokens_evaluated);
  assert.equal(timings.cache_n, answer.tokens_cached);
  assert.equal(timings.predicted_n, answer.tokens_predicted);
  assert.ok(timings.prompt_ms > 0 && timings.predicted_ms >= 0);
  assert.equal(settings.temperature, 0);
  assert.equal(settings.n_predict, 12);
  assert.deepEqual((await complete({})).tokens, [], 'ids come where they are wanted');
});

test('its end is told apart', async () => {
  const limited = await complete({n_predict: 2, ignore_eos: true});
  assert.deepEqual([limited.stop_type, limited.stopping_word, limited.tokens_predicted], ['limit', '', 2]);
  const ended = await complete({n_predict: -1});
  assert.equal(ended.stop_type, 'eos');
  const word = ended.content.trim().split(' ')[1];
  const stopped = await complete({n_predict: -1, stop: ['not there', word]});
  assert.deepEqual([stopped.stop_type, stopped.stopping_word], ['word', word]);
  assert.equal(stopped.content, ended.content.slice(0, ended.content.indexOf(word)));
  assert.equal((await complete({n_predict: 0})).content, '');
});

test('a stream gives the same, an event a token', async () => {
  const whole = await complete({return_tokens: true, n_probs: 2, seed: 3, temperature: 1});
  const all = await events('/completion', {...ASK, n_probs: 2, seed: 3, temperature: 1, timings_per_token: true});
  const last = all.at(-1);
  const news = all.slice(0, -1);
  assert.ok(news.every((event) => event.stop === false && event.tokens.length === 1 && event.timings.predicted_n > 0));
  assert.equal(news.map((event) => event.content).join(''), whole.content);
  assert.deepEqual(news.flatMap((event) => event.tokens), whole.tokens);
  assert.deepEqual(news.flatMap((event) => event.completion_probabilities), whole.completion_probabilities);
  assert.equal(last.stop, true);
  assert.equal(last.content, '');
  assert.equal(last.stop_type, whole.stop_type);
  assert.equal(last.tokens_predicted, whole.tokens_predicted);
  assert.equal(last.generation_settings.seed, 3);
});

test('probabilities are those of /v1/completions', async () => {
  const {completion_probabilities: probabilities} = await complete({n_probs: 3});
  const {logprobs} = await openai({logprobs: 3});
  assert.deepEqual(probabilities.map((token) => token.token), logprobs.tokens);
  assert.deepEqual(probabilities.map((token) => token.logprob), logprobs.token_logprobs);
  for (const {id, token, bytes, logprob, top_logprobs: top} of probabilities) {
    assert.equal(Buffer.from(bytes).toString(), token);
    assert.equal(top.length, 3);
    assert.deepEqual([top[0].id, top[0].logprob], [id, logprob], 'the likeliest was chosen');
    assert.ok(top[0].logprob >= top[1].logprob && top[1].logprob >= top[2].logprob);
  }
});

test('a seed that is told gives the same answer again', async () => {
  const first = await complete({temperature: 1.5, n_predict: 20, ignore_eos: true});
  const {seed} = first.generation_settings;
  assert.equal((await complete({temperature: 1.5, n_predict: 20, ignore_eos: true, seed})).content, first.content);
});

test('prompts come in every form', async () => {
  const {tokens} = await server.json('/tokenize', {content: PROMPT});
  const {content} = await complete({});
  for (const prompt of [tokens, {prompt_string: PROMPT}]) assert.equal((await complete({prompt})).content, content);
  const list = await complete({prompt: [PROMPT, tokens, {prompt_string: PROMPT}]});
  assert.deepEqual(list.map((answer) => [answer.index, answer.content]), [0, 1, 2].map((i) => [i, content]));
  const two = await complete({n_cmpl: 2, temperature: 1, seed: 1});
  assert.equal(two.length, 2);
  const mixed = await complete({prompt: [...tokens.slice(0, 2), PROMPT], n_predict: 1});
  assert.equal(mixed.tokens_evaluated, 2 + tokens.length);
  const streamed = await events('/completion', {...ASK, prompt: [PROMPT, tokens]});
  assert.deepEqual(streamed.filter((event) => event.stop).map((event) => event.index).sort(), [0, 1]);
});

test('fields of the answer can be picked', async () => {
  const picked = await complete({response_fields: ['content', 'generation_settings/n_predict', 'nothing/there']});
  assert.deepEqual(Object.keys(picked), ['content', 'generation_settings/n_predict']);
  assert.equal(picked['generation_settings/n_predict'], 12);
});

test('the cache is used unless it is not wanted', async () => {
  const prompt = 'One two three four five six seven eight nine ten. '.repeat(12);
  const cached = async (fields) => (await complete({prompt, n_predict: 1, ...fields})).timings.cache_n;
  await cached({});
  assert.ok((await cached({})) > 0);
  assert.equal(await cached({cache_prompt: false}), 0);
});

test('a grammar and a JSON Schema hold the answer', async () => {
  assert.match((await complete({grammar: 'root ::= "yes" | "no"'})).content, /^(yes|no)$/);
  const json_schema = {type: 'object', properties: {n: {type: 'integer'}}, required: ['n'], additionalProperties: false};
  const {content} = await complete({json_schema, n_predict: 40, temperature: 1, seed: 4});
  assert.ok(Number.isInteger(JSON.parse(content).n));
});

test('errors are spelled as llama.cpp does', async () => {
  for (const fields of [{prompt: null}, {prompt: {}}, {prompt: [true]}, {n_predict: 'x'}, {stop: 5}, {id_slot: []},
                        {response_fields: 'content'}, {n_probs: -1}, {temperature: 'hot'}, {logit_bias: [[1]]}]) {
    const response = await server.post('/completion', {...ASK, ...fields});
    assert.equal(response.status, 400, JSON.stringify(fields));
    const {error} = await response.json();
    assert.deepEqual([error.code, error.type], [400, 'invalid_request_error']);
    assert.ok(error.message.startsWith(Object.keys(fields)[0]), error.message);
  }
  const {error} = await complete({prompt: 'word '.repeat(3000)});
  assert.equal(error.type, 'exceed_context_size_error');
  assert.equal(error.n_ctx, 1024);
  assert.ok(error.n_prompt_tokens > 1024);
  const broken = await (await server.post('/completion', '{"prompt": ')).json();
  assert.equal(broken.error.code, 400);
});
