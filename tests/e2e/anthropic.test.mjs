// The `@anthropic-ai/sdk` client against the server: all its routes.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import {betaZodTool} from '@anthropic-ai/sdk/helpers/beta/zod';
import {z} from 'zod';
import {ANSWER, CAPITAL, MODEL, WEATHER, serveFile} from './server.mjs';

const {parameters, ...named} = WEATHER;
const TOOL = {...named, input_schema: parameters};
const ABUJA = [{role: 'user', content: 'What is the weather in Abuja?'}];
const server = await serveFile();
const client = new Anthropic({baseURL: server.url, apiKey: 'none', maxRetries: 0});

const ask = (options) => ({model: MODEL, max_tokens: 64, messages: CAPITAL, temperature: 0, ...options});
const create = (options) => client.messages.create(ask(options));
const textOf = (message) => message.content.map((block) => block.text ?? '').join('');

describe('messages', () => {
  test('are whole', async () => {
    const {data, request_id: id, response} = await create().withResponse();
    assert.equal(textOf(data), ANSWER);
    assert.equal(data.stop_reason, 'end_turn');
    assert.equal(data.role, 'assistant');
    assert.equal(id, response.headers.get('request-id'));
    assert.ok(id);
  });

  test('are streamed, and put together as the whole one', async () => {
    const texts = [];
    const stream = client.messages.stream(ask()).on('text', (text) => texts.push(text));
    const [message, whole] = [await stream.finalMessage(), await create()];
    assert.ok(texts.length > 0);
    assert.equal(texts.join(''), ANSWER);
    assert.deepEqual(message.content, whole.content);
    assert.equal(message.stop_reason, whole.stop_reason);
    assert.equal(
      message.usage.input_tokens + message.usage.cache_read_input_tokens,
      whole.usage.input_tokens + whole.usage.cache_read_input_tokens,
    );
    assert.equal(message.usage.output_tokens, whole.usage.output_tokens);
  });

  test('have raw events', async () => {
    const types = [];
    let usage;
    for await (const event of await create({stream: true})) {
      types.push(event.type);
      if (event.type === 'message_start') usage = event.message.usage;
      if (event.type === 'message_delta') assert.deepEqual(event.usage, {...usage, output_tokens: event.usage.output_tokens});
    }
    assert.equal(types[0], 'message_start');
    assert.deepEqual(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
  });

  test('call tools, whole and streamed', async () => {
    const stream = client.messages.stream(ask({messages: ABUJA, tools: [TOOL]}));
    const pieces = [];
    stream.on('inputJson', (piece) => pieces.push(piece));
    for (const message of [await stream.finalMessage(), await create({messages: ABUJA, tools: [TOOL]})]) {
      assert.equal(message.stop_reason, 'tool_use');
      assert.deepEqual(message.content[0].input, {city: 'Abuja'});
      const result = {type: 'tool_result', tool_use_id: message.content[0].id, content: '{"weather": "sunny"}'};
      const messages = [...ABUJA, {role: 'assistant', content: message.content}, {role: 'user', content: [result]}];
      const last = await create({messages, tools: [TOOL]});
      assert.equal(last.stop_reason, 'end_turn');
      assert.match(textOf(last), /sunny/);
    }
    assert.deepEqual(JSON.parse(pieces.join('')), {city: 'Abuja'});
  });

  test('run tools by themselves', async () => {
    const asked = [];
    const weather = betaZodTool({
      name: 'get_weather',
      description: 'Get the weather of a city',
      inputSchema: z.object({city: z.string()}),
      run: ({city}) => {
        asked.push(city);
        return JSON.stringify({city, weather: 'sunny', degrees: 7});
      },
    });
    const last = await client.beta.messages.toolRunner(ask({messages: ABUJA, tools: [weather]}));
    assert.deepEqual(asked, ['Abuja']);
    assert.match(textOf(last), /^It is sunny in Abuja/);
  });

  test('are forced to call', async () => {
    const message = await create({tools: [TOOL], tool_choice: {type: 'tool', name: 'get_weather'}});
    assert.equal(message.content[0].name, 'get_weather');
  });

  test('stop where they are told to', async () => {
    const stopped = await create({stop_sequences: [' is']});
    assert.equal(textOf(stopped), 'The capital of France');
    assert.deepEqual([stopped.stop_reason, stopped.stop_sequence], ['stop_sequence', ' is']);
    assert.equal((await create({max_tokens: 1})).stop_reason, 'max_tokens');
  });

  test('go on from what is there', async () => {
    const messages = [...CAPITAL, {role: 'assistant', content: 'The capital'}];
    assert.equal(textOf(await create({messages})), ' of France is Paris.');
  });

  test('take system prompts as blocks, thinking and metadata', async () => {
    const message = await client.beta.messages.create({
      ...ask({system: [{type: 'text', text: 'Be brief.', cache_control: {type: 'ephemeral'}}]}),
      max_tokens: 2048,
      thinking: {type: 'enabled', budget_tokens: 1024},
      metadata: {user_id: 'u'},
      betas: ['interleaved-thinking-2025-05-14'],
    });
    assert.equal(message.type, 'message');
  });

  test('have the form of a schema', async () => {
    const format = {
      type: 'json_schema',
      schema: {type: 'object', properties: {n: {enum: [1, 2]}}, required: ['n'], additionalProperties: false},
    };
    const {n} = JSON.parse(textOf(await create({output_config: {format}})));
    assert.ok([1, 2].includes(n));
  });

  test('are counted', async () => {
    const {input_tokens: n} = await client.messages.countTokens({model: MODEL, messages: CAPITAL});
    const {usage} = await create({max_tokens: 1});
    assert.equal(n, usage.input_tokens + usage.cache_read_input_tokens);
  });

  test('end when the client leaves', async () => {
    const stream = client.messages.stream(ask({max_tokens: 800}), {body: ask({max_tokens: 800, stream: true, ignore_eos: true})});
    await new Promise((resolve) => stream.on('text', resolve));
    stream.abort();
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  });
});

test('models are listed and found', async () => {
  const list = [];
  for await (const model of client.models.list()) list.push(model);
  assert.deepEqual(list.map((m) => [m.id, m.type]), [[MODEL, 'model']]);
  const one = await client.models.retrieve(MODEL);
  assert.ok(!Number.isNaN(Date.parse(one.created_at)));
});

describe('errors', () => {
  test('have the classes of their statuses', async () => {
    await assert.rejects(create({max_tokens: undefined}), (error) => {
      assert.ok(error instanceof Anthropic.BadRequestError);
      assert.equal(error.error.error.type, 'invalid_request_error');
      assert.match(error.error.error.message, /max_tokens/);
      assert.equal(error.requestID, error.error.request_id);
      return true;
    });
    await assert.rejects(client.models.retrieve('no-such-model'), Anthropic.NotFoundError);
    await assert.rejects(client.messages.batches.list(), Anthropic.NotFoundError);
    await assert.rejects(client.messages.batches.create({requests: []}), /batches are not built/);
    const image = {type: 'image', source: {type: 'base64', media_type: 'image/png', data: 'AAAA'}};
    await assert.rejects(create({messages: [{role: 'user', content: [image]}]}), /this model takes text only/);
  });
});
