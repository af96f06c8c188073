// The `openai` client against the server: all its routes.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import OpenAI from 'openai';
import {ANSWER, CAPITAL, LONG_CONTEXT, MODEL, WEATHER, collect, serveFile, startServer, until} from './server.mjs';

const TOOL = {type: 'function', function: WEATHER};
const server = await serveFile();
const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});

const chat = (options) => client.chat.completions.create({model: MODEL, messages: CAPITAL, temperature: 0, ...options});
const complete = (options) => client.completions.create({model: MODEL, prompt: 'In the beginning', temperature: 0, ...options});

const textOf = (chunks, index = 0) =>
  chunks.flatMap((c) => c.choices).filter((c) => c.index === index).map((c) => c.delta.content ?? '').join('');

describe('models', () => {
  test('are listed', async () => {
    const models = await collect(client.models.list());
    assert.deepEqual(models.map((m) => m.id), [MODEL]);
    assert.equal(models[0].object, 'model');
    assert.equal(models[0].context_length, 1024);
    assert.ok(models[0].created > 1e9);
  });
  test('are retrieved by name', async () => {
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
    await assert.rejects(client.models.retrieve('gpt-9'), (e) => e.status === 404 && e.code === 'model_not_found');
  });
});

describe('chat', () => {
  test('answers, with its usage', async () => {
    const reply = await chat();
    assert.equal(reply.choices[0].message.content, ANSWER);
    assert.equal(reply.choices[0].message.role, 'assistant');
    assert.equal(reply.choices[0].finish_reason, 'stop');
    assert.equal(reply.object, 'chat.completion');
    assert.ok(reply.usage.prompt_tokens > 5 && reply.usage.completion_tokens > 3);
    assert.equal(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens);
  });

  test('streams the text that it gives whole, for the same seed', async () => {
    const options = {temperature: 1.2, seed: 7, max_tokens: 40, messages: [{role: 'user', content: 'Tell me a story.'}]};
    const whole = await chat(options);
    const chunks = await collect(await chat({...options, stream: true}));
    assert.equal(textOf(chunks), whole.choices[0].message.content);
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.equal(chunks.at(-1).choices[0].finish_reason, whole.choices[0].finish_reason);
    assert.equal(new Set(chunks.map((c) => c.id)).size, 1);
    const other = await chat({...options, seed: 8});
    assert.notEqual(other.choices[0].message.content, whole.choices[0].message.content);
  });

  test('streams usage only where it is asked for', async () => {
    const without = await collect(await chat({stream: true}));
    assert.ok(without.every((c) => c.usage === undefined));
    const chunks = await collect(await chat({stream: true, stream_options: {include_usage: true}}));
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.ok(chunks.slice(0, -1).every((c) => c.usage === null));
    const {usage} = await chat();
    for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) {
      assert.equal(chunks.at(-1).usage[name], usage[name]);
    }
  });

  test('gives n answers, each its own, the same whole and streamed', async () => {
    const options = {n: 2, temperature: 1.5, seed: 3, max_tokens: 24, messages: [{role: 'user', content: 'Tell me a story.'}]};
    const whole = await chat(options);
    assert.deepEqual(whole.choices.map((c) => c.index), [0, 1]);
    const texts = whole.choices.map((c) => c.message.content);
    assert.notEqual(texts[0], texts[1]);
    const chunks = await collect(await chat({...options, stream: true}));
    assert.deepEqual([textOf(chunks, 0), textOf(chunks, 1)], texts);
    assert.equal(chunks.filter((c) => c.choices[0]?.finish_reason).length, 2);
  });

  for (const stop of ['France', ['Berlin', 'France', 'Paris']]) {
    test(`ends before the stop string ${JSON.stringify(stop)}`, async () => {
      const reply = await chat({stop});
      assert.equal(reply.choices[0].message.content, 'The capital of ');
      assert.equal(reply.choices[0].finish_reason, 'stop');
      assert.equal(textOf(await collect(await chat({stop, stream: true}))), 'The capital of ');
    });
  }

  for (const name of ['max_tokens', 'max_completion_tokens']) {
    test(`${name} cuts the answer`, async () => {
      const reply = await chat({[name]: 3});
      assert.equal(reply.choices[0].message.content, 'The capital of');
      assert.equal(reply.choices[0].finish_reason, 'length');
      assert.equal(reply.usage.completion_tokens, 3);
    });
  }

  test('reports log-probabilities of its tokens', async () => {
    const options = {logprobs: true, top_logprobs: 3};
    const {choices} = await chat(options);
    const tokens = choices[0].logprobs.content;
    assert.equal(tokens.map((t) => t.token).join('').replace(/<\|im_end\|>$/, ''), ANSWER);
    for (const token of tokens) {
      assert.ok(token.logprob <= 0);
      assert.equal(Buffer.from(token.bytes).toString(), token.token);
      assert.equal(token.top_logprobs.length, 3);
      assert.equal(token.top_logprobs[0].logprob, token.logprob);  // greedy takes the likeliest
      assert.ok(token.top_logprobs[1].logprob <= token.top_logprobs[0].logprob);
    }
    const chunks = await collect(await chat({...options, stream: true}));
    const streamed = chunks.flatMap((c) => c.choices[0]?.logprobs?.content ?? []);
    assert.deepEqual(streamed, tokens);
    assert.equal((await chat()).choices[0].logprobs, null);
  });

  test('remembers what was said before', async () => {
    const messages = [
      {role: 'system', content: 'You are realizar-tiny, a small model.'},
      {role: 'user', content: 'My name is Eva.'},
      {role: 'assistant', content: 'Hello, Eva!'},
      {role: 'user', content: [{type: 'text', text: 'What is '}, {type: 'text', text: 'my name?'}]},
    ];
    assert.match((await chat({messages})).choices[0].message.content, /Eva/);
  });

  test('runs a tool and uses what it says', async () => {
    const messages = [{role: 'user', content: 'What is the weather in Abuja?'}];
    const call = (await chat({messages, tools: [TOOL]})).choices[0];
    assert.equal(call.finish_reason, 'tool_calls');
    assert.equal(call.message.content, null);
    assert.equal(call.message.tool_calls.length, 1);
    const {id, function: f} = call.message.tool_calls[0];
    assert.equal(f.name, 'get_weather');
    assert.deepEqual(JSON.parse(f.arguments), {city: 'Abuja'});
    messages.push(call.message);
    messages.push({role: 'tool', tool_call_id: id, content: '{"city": "Abuja", "weather": "sunny", "degrees": 7}'});
    const answer = (await chat({messages, tools: [TOOL]})).choices[0];
    assert.equal(answer.message.content, 'It is sunny in Abuja, 7 degrees.');
    assert.equal(answer.finish_reason, 'stop');
  });

  test('streams a tool call in pieces that add up', async () => {
    const messages = [{role: 'user', content: 'What is the weather in Abuja?'}];
    const stream = client.chat.completions.stream({model: MODEL, messages, tools: [TOOL], temperature: 0});
    const final = await stream.finalChatCompletion();
    const call = final.choices[0].message.tool_calls[0];
    assert.equal(call.function.name, 'get_weather');
    assert.deepEqual(JSON.parse(call.function.arguments), {city: 'Abuja'});
    assert.equal(final.choices[0].finish_reason, 'tool_calls');
  });

  test('leaves tools alone where tool_choice says none', async () => {
    const messages = [{role: 'user', content: 'What is the weather in Abuja?'}];
    const reply = await chat({messages, tools: [TOOL], tool_choice: 'none', max_tokens: 30});
    assert.equal(reply.choices[0].message.tool_calls, undefined);
  });

  test('the client loops through tools by itself', async () => {
    const asked = [];
    const runner = client.chat.completions.runTools({
      model: MODEL,
      temperature: 0,
      messages: [{role: 'user', content: 'What is the weather in Sofia?'}],
      tools: [{
        type: 'function',
        function: {
          ...TOOL.function,
          parse: JSON.parse,
          function: ({city}) => {
            asked.push(city);
            return {city, weather: 'sunny', degrees: -3};
          },
        },
      }],
    });
    assert.match(await runner.finalContent(), /^It is sunny in Sofia/);
    assert.deepEqual(asked, ['Sofia']);
  });
});

describe('completions', () => {
  test('go on with the prompt, sixteen tokens unless told', async () => {
    const reply = await complete();
    assert.equal(reply.object, 'text_completion');
    assert.ok(reply.choices[0].text.length > 0);
    assert.ok(reply.usage.completion_tokens <= 16);
  });

  test('stream the same text', async () => {
    const options = {max_tokens: 12};
    const whole = await complete(options);
    const chunks = await collect(await complete({...options, stream: true}));
    assert.equal(chunks.map((c) => c.choices[0]?.text ?? '').join(''), whole.choices[0].text);
    assert.equal(chunks.at(-1).choices[0].finish_reason, whole.choices[0].finish_reason);
  });

  test('echo the prompt', async () => {
    const plain = await complete({max_tokens: 6});
    const echoed = await complete({max_tokens: 6, echo: true});
    assert.equal(echoed.choices[0].text, 'In the beginning' + plain.choices[0].text);
    const chunks = await collect(await complete({max_tokens: 6, echo: true, stream: true}));
    assert.equal(chunks.map((c) => c.choices[0]?.text ?? '').join(''), echoed.choices[0].text);
  });

  test("report log-probabilities at the text's offsets", async () => {
    const {choices} = await complete({max_tokens: 6, logprobs: 2});
    const {tokens, token_logprobs, top_logprobs, text_offset} = choices[0].logprobs;
    assert.equal(tokens.length, 6);
    tokens.forEach((token, i) => {
      assert.equal(choices[0].text.slice(text_offset[i], text_offset[i] + token.length), token);
      assert.ok(token_logprobs[i] <= 0);
      assert.equal(Object.keys(top_logprobs[i]).length, 2);
      assert.equal(top_logprobs[i][token], token_logprobs[i]);
    });
  });

  test("score an echoed prompt's tokens too, all but the first", async () => {
    const plain = (await complete({max_tokens: 6, logprobs: 2})).choices[0].logprobs;
    const {choices, usage} = await complete({max_tokens: 6, logprobs: 2, echo: true});
    const {tokens, token_logprobs, top_logprobs, text_offset} = choices[0].logprobs;
    assert.equal(tokens.length, usage.prompt_tokens + 6);
    assert.equal(token_logprobs[0], null);
    assert.equal(top_logprobs[0], null);
    assert.deepEqual(token_logprobs.slice(-6), plain.token_logprobs);
    tokens.forEach((token, i) => {
      assert.equal(choices[0].text.slice(text_offset[i], text_offset[i] + token.length), token);
      if (i > 0) assert.ok(token_logprobs[i] <= 0);
    });
    const scored = await complete({max_tokens: 0, logprobs: 0, echo: true});
    assert.deepEqual(scored.choices[0].logprobs.token_logprobs, token_logprobs.slice(0, -6));
  });

  test('take the best of several', async () => {
    const options = {temperature: 1.5, seed: 5, max_tokens: 8, prompt: 'And the'};
    const mean = (choice) => choice.logprobs.token_logprobs.reduce((a, b) => a + b) / choice.logprobs.tokens.length;
    const every = await complete({...options, n: 4, logprobs: 0});
    const best = await complete({...options, n: 1, best_of: 4, logprobs: 0});
    assert.equal(best.choices.length, 1);
    const highest = every.choices.reduce((a, b) => (mean(b) > mean(a) ? b : a));
    assert.equal(best.choices[0].text, highest.text);
    await assert.rejects(complete({best_of: 2, stream: true}), (e) => e.status === 400 && e.param === 'best_of');
  });

  test('answer a list of prompts in order and count all their tokens', async () => {
    const prompts = ['In the beginning', 'And the LORD said', 'What is'];
    const alone = [];
    for (const prompt of prompts) alone.push(await complete({prompt, max_tokens: 5}));
    const together = await complete({prompt: prompts, max_tokens: 5});
    assert.deepEqual(together.choices.map((c) => c.text), alone.map((r) => r.choices[0].text));
    assert.deepEqual(together.choices.map((c) => c.index), [0, 1, 2]);
    const sum = (name) => alone.reduce((total, r) => total + r.usage[name], 0);
    assert.equal(together.usage.completion_tokens, sum('completion_tokens'));
    assert.equal(together.usage.prompt_tokens, sum('prompt_tokens'));
  });

  test('take token ids', async () => {
    const {tokens} = await server.json('/tokenize', {prompt: 'In the beginning'});
    assert.equal((await complete({prompt: tokens})).choices[0].text, (await complete()).choices[0].text);
  });
});

describe('embeddings', () => {
  const embed = (input, encoding_format) => client.embeddings.create({model: MODEL, input, encoding_format});
  const length = (v) => Math.sqrt(v.reduce((sum, x) => sum + x * x, 0));

  test('are the same vector of the length 1 in both encodings', async () => {
    const floats = (await embed('A bear in the garden.', 'float')).data[0].embedding;
    assert.equal(floats.length, 256);
    assert.ok(Math.abs(length(floats) - 1) < 1e-5);
    const raw = (await server.json('/v1/embeddings', {input: 'A bear in the garden.', encoding_format: 'base64'})).data[0];
    const bytes = Buffer.from(raw.embedding, 'base64');
    assert.deepEqual(Array.from(new Float32Array(bytes.buffer, bytes.byteOffset, 256)), floats.map(Math.fround));
    assert.deepEqual(Array.from((await embed('A bear in the garden.')).data[0].embedding), floats.map(Math.fround));
  });

  test('of a list are those of its members alone', async () => {
    const inputs = ['one', 'two words', 'What is the capital of France?'];
    const list = await embed(inputs, 'float');
    assert.deepEqual(list.data.map((d) => d.index), [0, 1, 2]);
    for (const [i, input] of inputs.entries()) {
      assert.deepEqual(list.data[i].embedding, (await embed(input, 'float')).data[0].embedding);
    }
    assert.notDeepEqual(list.data[0].embedding, list.data[1].embedding);
    assert.ok(list.usage.prompt_tokens > 5);
  });

  test('are shortened where dimensions say so', async () => {
    const {data} = await client.embeddings.create({model: MODEL, input: 'one', dimensions: 16, encoding_format: 'float'});
    assert.equal(data[0].embedding.length, 16);
    assert.ok(Math.abs(length(data[0].embedding) - 1) < 1e-5);
  });
});

describe('responses', () => {
  const respond = (options) => client.responses.create({model: MODEL, temperature: 0, input: CAPITAL[0].content, ...options});

  test('answer', async () => {
    const response = await respond();
    assert.equal(response.output_text, ANSWER);
    assert.equal(response.status, 'completed');
    assert.equal(response.output[0].type, 'message');
    assert.equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens);
  });

  test('stream events that add up, in order', async () => {
    const events = await collect(await respond({stream: true}));
    assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
    const types = events.map((e) => e.type);
    assert.deepEqual(types.slice(0, 4), ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added']);
    assert.deepEqual(types.slice(-4), ['response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed']);
    const text = events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join('');
    assert.equal(text, ANSWER);
    assert.equal(events.at(-1).response.output[0].content[0].text, ANSWER);
  });

  test("work with the client's own collector", async () => {
    const stream = client.responses.stream({model: MODEL, temperature: 0, input: CAPITAL[0].content});
    assert.equal((await stream.finalResponse()).output_text, ANSWER);
  });

  test('say that they were cut', async () => {
    const response = await respond({max_output_tokens: 3});
    assert.equal(response.status, 'incomplete');
    assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  });

  test('run a tool and use what it says', async () => {
    const tools = [{type: 'function', ...TOOL.function, strict: false}];
    const input = [{role: 'user', content: 'What is the weather in Abuja?'}];
    const first = await respond({input, tools});
    const call = first.output.find((item) => item.type === 'function_call');
    assert.equal(call.name, 'get_weather');
    assert.deepEqual(JSON.parse(call.arguments), {city: 'Abuja'});
    input.push(...first.output);
    input.push({type: 'function_call_output', call_id: call.call_id, output: '{"city": "Abuja", "weather": "sunny", "degrees": 7}'});
    assert.equal((await respond({input, tools})).output_text, 'It is sunny in Abuja, 7 degrees.');
  });

  test('are kept, with what they were made from, until they are deleted', async () => {
    const first = await respond({input: 'My name is Eva.'});
    const response = await respond({previous_response_id: first.id});
    assert.deepEqual(await client.responses.retrieve(response.id), response);
    const texts = [];
    for await (const item of client.responses.inputItems.list(response.id, {limit: 2, order: 'asc'})) {
      texts.push(item.content[0].text);
    }
    assert.deepEqual(texts, ['My name is Eva.', first.output_text, CAPITAL[0].content]);
    await assert.rejects(client.responses.cancel(response.id), (e) => e.status === 400 && /background/.test(e.message));
    await client.responses.delete(response.id);
    await assert.rejects(client.responses.retrieve(response.id), (e) => e.status === 404 && e.code === 'not_found');
    await assert.rejects(client.responses.delete(response.id), (e) => e.status === 404);
    assert.equal((await client.responses.retrieve(first.id)).id, first.id);
  });

  test('are made in the background, and read from where a client left', async () => {
    const first = [];
    for await (const event of await respond({background: true, stream: true})) {
      first.push(event);
      if (first.length === 5) break;
    }
    const {id} = first[0].response;
    const rest = await collect(await client.responses.retrieve(id, {stream: true, starting_after: first.at(-1).sequence_number}));
    assert.deepEqual([...first, ...rest].map((e) => e.sequence_number), [...first, ...rest].map((_, i) => i));
    assert.equal(rest.at(-1).response.output[0].content[0].text, ANSWER);
    assert.equal((await client.responses.retrieve(id)).output_text, ANSWER);

    const slow = await startServer(...LONG_CONTEXT);
    const other = new OpenAI({baseURL: `${slow.url}/v1`, apiKey: 'none', maxRetries: 0});
    const queued = await other.responses.create({model: MODEL, input: CAPITAL, background: true, ignore_eos: true, max_output_tokens: 30_000});
    assert.equal(queued.status, 'queued');
    assert.equal((await other.responses.cancel(queued.id)).status, 'cancelled');
    assert.equal((await other.responses.retrieve(queued.id)).status, 'cancelled');
    assert.equal(await slow.stop(), 0);
  });

  test('are counted before they are asked', async () => {
    const {input_tokens, object} = await client.responses.inputTokens.count({model: MODEL, input: CAPITAL[0].content});
    assert.equal(object, 'response.input_tokens');
    assert.equal(input_tokens, (await respond()).usage.input_tokens);
  });

  test('call custom tools with text of their grammars', async () => {
    const format = {type: 'grammar', syntax: 'lark', definition: 'start: WORD (" " WORD)*\nWORD: /[a-z]{3}/'};
    const options = {tools: [{type: 'custom', name: 'say', format}], tool_choice: {type: 'custom', name: 'say'}, max_output_tokens: 100};
    const stream = client.responses.stream({model: MODEL, temperature: 0, input: 'Say it.', ...options});
    let pieces = '';
    stream.on('response.custom_tool_call_input.delta', (event) => (pieces += event.delta));
    const call = (await stream.finalResponse()).output.find((item) => item.type === 'custom_tool_call');
    assert.equal(call.name, 'say');
    assert.match(call.input, /^[a-z]{3}( [a-z]{3})*$/);
    assert.equal(pieces, call.input);
    const input = [{role: 'user', content: 'Say it.'}, call, {type: 'custom_tool_call_output', call_id: call.call_id, output: 'said'}];
    assert.equal((await respond({input, tools: options.tools, max_output_tokens: 5})).object, 'response');
  });

  test('tell what is left of the limits', async () => {
    const ask = async () => (await client.responses.create({model: MODEL, input: 'Hi', max_output_tokens: 2}).withResponse()).response.headers;
    const most = Number((await ask()).get('x-ratelimit-limit-requests'));
    assert.ok(most > 0);
    // An answer that was abandoned before may still be ending.
    const headers = await until(async () => {
      const given = await ask();
      return Number(given.get('x-ratelimit-remaining-requests')) === most && given;
    }, 'all of the limit');
    assert.match(headers.get('openai-processing-ms'), /^\d+$/);
  });

  test('name the wrong field as the client spelled it', async () => {
    await assert.rejects(respond({max_output_tokens: 'many'}), (e) => e.status === 400 && e.param === 'max_output_tokens');
    await assert.rejects(respond({previous_response_id: 'resp_1'}), (e) => e.status === 400 && e.param === 'previous_response_id');
  });
});
