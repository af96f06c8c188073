// Answers with a required form: response_format, JSON Schema, required tool calls. A model that knows nothing about
// schemas still has to follow them.
import assert from 'node:assert/strict';
import {describe, test} from 'node:test';
import {createOpenAICompatible} from '@ai-sdk/openai-compatible';
import {generateObject} from 'ai';
import OpenAI from 'openai';
import {zodResponseFormat} from 'openai/helpers/zod';
import {z} from 'zod';
import {CAPITAL, MODEL, serveFile} from './server.mjs';

const messages = CAPITAL;
const City = z.object({name: z.string().max(20), country: z.enum(['France', 'Peru']), inhabitants: z.int().min(0).max(99)});
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the weather of a city',
    parameters: {type: 'object', properties: {city: {type: 'string', maxLength: 20}}, required: ['city'], additionalProperties: false},
  },
};
const server = await serveFile();
const client = new OpenAI({baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0});
const chat = (options) => client.chat.completions.create({model: MODEL, messages, temperature: 0, max_tokens: 200, ...options});

describe('response_format', () => {
  test('json_schema: the client parses and checks the answer', async () => {
    for (const seed of [1, 2, 3]) {
      const completion = await client.chat.completions.parse({
        model: MODEL, messages, seed, temperature: 1, max_tokens: 200, response_format: zodResponseFormat(City, 'city')});
      City.parse(completion.choices[0].message.parsed);
      assert.equal(completion.choices[0].finish_reason, 'stop');
    }
  });

  test('json_schema holds while it is streamed', async () => {
    const stream = await chat({stream: true, response_format: zodResponseFormat(City, 'city')});
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    City.parse(JSON.parse(text));
  });

  test('json_object gives an object', async () => {
    const reply = await chat({response_format: {type: 'json_object'}, max_tokens: 400});
    if (reply.choices[0].finish_reason === 'stop') {
      assert.equal(typeof JSON.parse(reply.choices[0].message.content), 'object');
    } else {
      assert.match(reply.choices[0].message.content, /^\s*\{/);
    }
  });

  test('text changes nothing', async () => {
    const reply = await chat({response_format: {type: 'text'}});
    assert.equal(reply.choices[0].message.content, 'The capital of France is Paris.');
  });

  for (const [name, response_format] of [
    ['an unknown type', {type: 'yaml'}],
    ['no type', {}],
    ['no object', 'json'],
    ['no schema', {type: 'json_schema', json_schema: {name: 'x'}}],
    ['a schema that is none', {type: 'json_schema', json_schema: {name: 'x', schema: {type: 'unicorn'}}}],
  ]) {
    test(`${name} is 400 and names the field`, async () => {
      await assert.rejects(chat({response_format}), (e) => e.status === 400 && /^response_format/.test(e.param));
    });
  }

  test('requests with and without a schema do not disturb each other', async () => {
    const plain = (i) => chat({seed: i});
    const formed = (i) => chat({seed: i, temperature: 1, response_format: zodResponseFormat(City, 'city')});
    const alone = [];
    for (let i = 0; i < 8; ++i) alone.push((await (i % 2 ? plain(i) : formed(i))).choices[0].message.content);
    const together = await Promise.all(alone.map((_, i) => (i % 2 ? plain(i) : formed(i))));
    assert.deepEqual(together.map((r) => r.choices[0].message.content), alone);
  });
});

describe('tool_choice', () => {
  for (const [name, tool_choice] of [['required', 'required'], ['one by its name', {type: 'function', function: {name: 'get_weather'}}]]) {
    test(`${name}: there is a call with valid arguments, whatever the question was`, async () => {
      for (const seed of [1, 2, 3]) {
        const {choices} = await chat({tools: [WEATHER], tool_choice, seed, temperature: 1});
        const [call] = choices[0].message.tool_calls;
        assert.equal(call.function.name, 'get_weather');
        assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)), ['city']);
      }
    });
  }
});

test('responses keep to text.format', async () => {
  const format = {type: 'json_schema', name: 'city', strict: true, schema: z.toJSONSchema(City)};
  const response = await client.responses.create({
    model: MODEL, input: messages, temperature: 0, max_output_tokens: 200, text: {format}});
  City.parse(JSON.parse(response.output_text));
});

test("the AI SDK's generateObject gives an object", async () => {
  const provider = createOpenAICompatible({name: 'realizar', baseURL: `${server.url}/v1`, supportsStructuredOutputs: true});
  const {object} = await generateObject({model: provider(MODEL), schema: City, prompt: messages[0].content, maxRetries: 0});
  City.parse(object);
});
