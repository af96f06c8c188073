// The routes of llama.cpp's server, by plain fetch.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {serveFile} from './server.mjs';

const PROMPT = 'The capital of France';
const ASK = {prompt: PROMPT, temperature: 0, n_predict: 12};

const server = await serveFile('--no-page');

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

test('probabilities after the sampler chain are those that it draws with', async () => {
  const ask = {n_probs: 5, post_sampling_probs: true, n_predict: 6, ignore_eos: true};
  const {completion_probabilities: greedy} = await complete(ask);
  assert.deepEqual(greedy.map((token) => [token.prob, token.top_probs.length]), Array(6).fill([1, 1]));
  const drawn = await complete({...ask, temperature: 1.5, top_k: 3, top_p: 1, seed: 1});
  for (const {id, prob, top_probs: top} of drawn.completion_probabilities) {
    assert.equal(top.length, 3, 'what top_k has dropped is not told');
    assert.ok(Math.abs(top.reduce((sum, one) => sum + one.prob, 0) - 1) < 1e-5);
    assert.equal(top.find((one) => one.id === id).prob, prob);
    assert.ok(top[0].prob >= top[1].prob && top[1].prob >= top[2].prob);
  }
  const plain = await complete({n_predict: 6, ignore_eos: true, temperature: 1.5, top_k: 3, top_p: 1, seed: 1});
  assert.equal(drawn.content, plain.content, 'telling changes no token');
  assert.equal(drawn.generation_settings.post_sampling_probs, true);
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

test('OpenAI routes tell timings and progress where they are asked to', async () => {
  const messages = [{role: 'user', content: 'Count the words. '.repeat(20)}];
  const asks = [['/v1/chat/completions', {messages, max_tokens: 6, temperature: 0}],
                ['/v1/completions', {prompt: PROMPT.repeat(20), max_tokens: 6, temperature: 0}]];
  for (const [route, ask] of asks) {
    const plain = await server.json(route, ask);
    assert.ok(!('timings' in plain) && !('__verbose' in plain));
    const told = await server.json(route, {...ask, timings_per_token: true});
    assert.equal(told.timings.predicted_n, told.usage.completion_tokens);
    assert.equal(told.timings.prompt_n + told.timings.cache_n, told.usage.prompt_tokens);
    const lines = (await (await server.post(route, {...ask, stream: true, timings_per_token: true,
                                                    return_progress: true})).text()).split('\n\n');
    const all = lines.filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
    const progress = all.filter((event) => event.prompt_progress).map((event) => event.prompt_progress);
    assert.ok(progress.length > 0);
    assert.equal(progress[0].cache, progress[0].processed);
    assert.equal(progress.at(-1).processed, progress.at(-1).total);
    assert.equal(progress[0].total, told.usage.prompt_tokens);
    assert.ok(progress.every((one, i) => i === 0 || one.processed > progress[i - 1].processed));
    const first = all.find((event) => event.prompt_progress).timings;
    assert.deepEqual([first.prompt_n, first.prompt_ms, first.predicted_n], [0, 0, 0]);
    const last = all.findLast((event) => event.choices[0]?.finish_reason);
    assert.equal(last.timings.predicted_n, told.usage.completion_tokens);
  }
  const verbose = await server.json('/v1/chat/completions', {messages, max_tokens: 1, verbose: true});
  assert.match(verbose.__verbose.prompt, /Count the words/);
  assert.equal(verbose.__verbose.generation_settings.n_predict, 1);
});

test('props and slots say what is served and how busy it is', async () => {
  const props = await (await fetch(`${server.url}/props`)).json();
  assert.equal(props.default_generation_settings.n_ctx, 1024);
  assert.equal(props.default_generation_settings.params.n_predict, -1);
  assert.equal(props.total_slots, 64);
  assert.match(props.chat_template, /im_start/);
  assert.equal(props.model_path, 'realizar-tiny-Q8_0.gguf');
  assert.equal(props.eos_token, '<|im_end|>');
  const slots = await (await fetch(`${server.url}/slots?fail_on_no_slot=1`)).json();
  assert.equal(slots.length, 64);
  assert.ok(slots.every((slot, i) => slot.id === i && slot.n_ctx === 1024 && !slot.is_processing));
  assert.equal((await fetch(`${server.url}/props?model=realizar-tiny`)).status, 200);
});

test('tokens come with their pieces', async () => {
  const content = 'naïve 日本 🦆';
  const {tokens} = await server.json('/tokenize', {content, with_pieces: true});
  const bytes = tokens.map(({piece}) => Buffer.from(piece));
  assert.equal(Buffer.concat(bytes).toString(), content);
  assert.ok(tokens.some(({piece}) => Array.isArray(piece)), 'a part of a character is bytes');
  const plain = await server.json('/tokenize', {content});
  assert.deepEqual(tokens.map(({id}) => id), plain.tokens);
});

test('a model that cannot infill says so', async () => {
  const gap = {input_prefix: 'a', input_suffix: 'b'};
  for (const [fields, field] of [[gap, 'input_prefix'], [{input_prefix: 'a'}, 'input_suffix'], [{}, 'input_prefix'],
                                 [{...gap, input_extra: [{filename: 'x'}]}, 'input_extra'],
                                 [{...gap, input_extra: [{filename: 1, text: 'x'}]}, 'input_extra']]) {
    const response = await server.post('/infill', fields);
    assert.equal(response.status, 400);
    assert.ok((await response.json()).error.message.startsWith(field), field);
  }
});

test("Mistral's route of gaps answers in the shape of a chat", async () => {
  const ask = {prompt: PROMPT, max_tokens: 12, temperature: 0, random_seed: 4};
  const answer = await server.json('/v1/fim/completions', ask);
  assert.equal(answer.choices[0].message.content, (await openai()).text);
  const text = await (await server.post('/v1/fim/completions', {...ask, stream: true})).text();
  assert.ok(text.endsWith('data: [DONE]\n\n'));
  const all = text.split('\n\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
  assert.equal(all.map((event) => event.choices[0].delta.content).join(''), answer.choices[0].message.content);
  assert.equal(all.at(-1).choices[0].finish_reason, answer.choices[0].finish_reason);
  assert.deepEqual(all.at(-1).usage, answer.usage);
  const refused = await server.json('/v1/fim/completions', {...ask, suffix: 'b'});
  assert.equal(refused.error.param, 'suffix');
});
