// Mistral's own client, which validates answers, and LlamaIndex.
import assert from 'node:assert/strict';
import {before, describe, test} from 'node:test';
import {Mistral} from '@mistralai/mistralai';
import {tool} from '@llamaindex/core/tools';
import {openai, OpenAIEmbedding} from '@llamaindex/openai';
import {z} from 'zod';
import {ANSWER, MODEL, QUESTION, WEATHER, serveFile} from './server.mjs';

const WEATHER_QUESTION = 'What is the weather in Abuja?';
const SAID = {city: 'Abuja', weather: 'sunny', degrees: 7};
const server = await serveFile();

describe('@mistralai/mistralai', () => {
  let client;
  before(() => (client = new Mistral({apiKey: 'none', serverURL: server.url})));
  const options = (content = QUESTION) => ({model: MODEL, temperature: 0, messages: [{role: 'user', content}]});
  const tools = [{type: 'function', function: WEATHER}];

  test('completes and streams', async () => {
    const reply = await client.chat.complete(options());
    assert.equal(reply.choices[0].message.content, ANSWER);
    assert.ok(reply.usage.completionTokens > 3);
    let text = '';
    for await (const event of await client.chat.stream(options())) text += event.data.choices[0]?.delta.content ?? '';
    assert.equal(text, ANSWER);
  });

  test('runs a tool and uses what it says', async () => {
    const asked = options(WEATHER_QUESTION);
    const {message} = (await client.chat.complete({...asked, tools})).choices[0];
    assert.equal(message.toolCalls[0].function.name, 'get_weather');
    assert.deepEqual(JSON.parse(message.toolCalls[0].function.arguments), {city: 'Abuja'});
    const said = {role: 'tool', toolCallId: message.toolCalls[0].id, content: JSON.stringify(SAID)};
    const reply = await client.chat.complete({...asked, tools, messages: [...asked.messages, message, said]});
    assert.match(reply.choices[0].message.content, /^It is sunny in Abuja/);
  });

  test('makes the model call any tool', async () => {
    const reply = await client.chat.complete({...options(), tools, toolChoice: 'any', maxTokens: 60});
    assert.equal(reply.choices[0].message.toolCalls[0].function.name, 'get_weather');
  });

  test('gets the form that it asks for', async () => {
    const schemaDefinition = {type: 'object', properties: {n: {type: 'integer', minimum: 1, maximum: 9}}, required: ['n'], additionalProperties: false};
    const responseFormat = {type: 'json_schema', jsonSchema: {name: 'number', schemaDefinition, strict: true}};
    const reply = await client.chat.complete({...options('A number.'), responseFormat});
    assert.ok(JSON.parse(reply.choices[0].message.content).n >= 1);
  });

  test('embeds', async () => {
    const reply = await client.embeddings.create({model: MODEL, inputs: ['one', 'two']});
    assert.match(reply.id, /^embd-/);
    assert.deepEqual(reply.data.map((d) => d.embedding.length), [256, 256]);
  });

  test('continues a text by its route for infilling', async () => {
    const reply = await client.fim.complete({model: MODEL, prompt: 'In the beginning', maxTokens: 4, temperature: 0});
    assert.ok(reply.choices[0].message.content.length > 0);
  });
});

describe('@llamaindex/openai', () => {
  const llm = () => openai({model: MODEL, temperature: 0, apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0});
  const ask = (content) => ({messages: [{role: 'user', content}]});

  test('chats and streams', async () => {
    assert.equal((await llm().chat(ask(QUESTION))).message.content, ANSWER);
    let text = '';
    for await (const chunk of await llm().chat({...ask(QUESTION), stream: true})) text += chunk.delta;
    assert.equal(text, ANSWER);
  });

  test('runs a tool and uses what it says', async () => {
    const weather = tool({
      name: 'get_weather',
      description: WEATHER.description,
      parameters: z.object({city: z.string()}),
      execute: () => JSON.stringify(SAID),
    });
    const result = await llm().exec({...ask(WEATHER_QUESTION), tools: [weather]});
    assert.equal(result.toolCalls[0].name, 'get_weather');
    const messages = [...ask(WEATHER_QUESTION).messages, ...result.newMessages];
    const last = await llm().exec({messages, tools: [weather]});
    // It puts the result in quotes again, and the small model does not find the city in them.
    assert.match(last.newMessages.at(-1).content, /^It is sunny in/);
  });

  test('gets the form that it asks for', async () => {
    const responseFormat = z.object({n: z.number().int().min(1).max(9)});
    const reply = await llm().chat({...ask('A number.'), responseFormat});
    assert.ok(JSON.parse(reply.message.content).n >= 1);
  });

  test('embeds', async () => {
    const embedding = new OpenAIEmbedding({model: MODEL, apiKey: 'none', baseURL: `${server.url}/v1`});
    const [first, second] = await embedding.getTextEmbeddings(['one', 'two']);
    assert.equal(first.length, 256);
    assert.notDeepEqual(first, second);
  });
});
