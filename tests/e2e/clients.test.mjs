// Two frameworks that many programs use instead of a bare client: the AI SDK and LangChain.
import assert from 'node:assert/strict';
import {before, describe, test} from 'node:test';
import {createOpenAI} from '@ai-sdk/openai';
import {createOpenAICompatible} from '@ai-sdk/openai-compatible';
import {HumanMessage, ToolMessage} from '@langchain/core/messages';
import {tool as langchainTool} from '@langchain/core/tools';
import {ChatOpenAI, OpenAI, OpenAIEmbeddings} from '@langchain/openai';
import {embedMany, generateText, Output, stepCountIs, streamText, tool} from 'ai';
import {z} from 'zod';
import {ANSWER, MODEL, QUESTION, serveFile} from './server.mjs';

const weatherOf = ({city}) => ({city, weather: 'sunny', degrees: 7});
const WEATHER = {description: 'Get the weather of a city', schema: z.object({city: z.string()})};
const server = await serveFile('--strict-model-names');

describe('ai with @ai-sdk/openai-compatible', () => {
  let provider;
  before(() => (provider = createOpenAICompatible({name: 'realizar', baseURL: `${server.url}/v1`, includeUsage: true})));
  const options = () => ({model: provider(MODEL), temperature: 0, maxRetries: 0});

  test('generates text', async () => {
    const {text, usage, finishReason} = await generateText({...options(), prompt: QUESTION});
    assert.equal(text, ANSWER);
    assert.equal(finishReason, 'stop');
    assert.ok(usage.inputTokens > 5 && usage.outputTokens > 3);
  });

  test('streams text, with its usage', async () => {
    const result = streamText({...options(), prompt: QUESTION});
    let text = '';
    for await (const piece of result.textStream) text += piece;
    assert.equal(text, ANSWER);
    assert.ok((await result.usage).outputTokens > 3);
  });

  for (const streamed of [false, true]) {
    test(`runs tools until there is an answer, ${streamed ? 'streamed' : 'whole'}`, async () => {
      const tools = {get_weather: tool({description: WEATHER.description, inputSchema: WEATHER.schema, execute: weatherOf})};
      const call = {...options(), tools, prompt: 'What is the weather in Abuja?', stopWhen: stepCountIs(3)};
      const result = streamed ? streamText(call) : await generateText(call);
      assert.match(await result.text, /^It is sunny in Abuja/);
      const steps = await result.steps;
      assert.equal(steps.length, 2);
      assert.deepEqual(steps[0].toolCalls[0].input, {city: 'Abuja'});
    });
  }

  test('embeds', async () => {
    const {embeddings} = await embedMany({model: provider.embeddingModel(MODEL), values: ['one', 'two']});
    assert.equal(embeddings.length, 2);
    assert.equal(embeddings[0].length, 256);
  });

  test('shows the server\'s error', async () => {
    await assert.rejects(
        generateText({...options(), model: provider('gpt-9'), prompt: QUESTION}),
        (e) => e.statusCode === 404 && /gpt-9/.test(e.message));
  });
});

// Its default is the Responses API, whose later turns name items of the earlier ones by their ids.
describe('ai with @ai-sdk/openai', () => {
  const provider = () => createOpenAI({baseURL: `${server.url}/v1`, apiKey: 'none'});
  const options = () => ({model: provider()(MODEL), temperature: 0, maxRetries: 0});

  test('holds a conversation', async () => {
    const messages = [{role: 'user', content: 'My name is Eva.'}];
    const first = await generateText({...options(), messages});
    messages.push(...first.response.messages, {role: 'user', content: 'What is my name?'});
    const second = await generateText({...options(), messages});
    assert.match(JSON.stringify(second.request.body), /item_reference/);
    assert.match(second.text, /Eva/);
  });

  for (const streamed of [false, true]) {
    test(`runs tools until there is an answer, ${streamed ? 'streamed' : 'whole'}`, async () => {
      const tools = {get_weather: tool({description: WEATHER.description, inputSchema: WEATHER.schema, execute: weatherOf})};
      const call = {...options(), tools, prompt: 'What is the weather in Abuja?', stopWhen: stepCountIs(3)};
      const result = streamed ? streamText(call) : await generateText(call);
      assert.match(await result.text, /^It is sunny in Abuja/);
      assert.equal((await result.steps).length, 2);
    });
  }

  test('gets the form that it asks for', async () => {
    const form = Output.object({schema: z.object({n: z.number().int().min(1).max(9)})});
    const {output} = await generateText({...options(), output: form, prompt: 'A number.'});
    assert.ok(output.n >= 1 && output.n <= 9);
  });

  test('embeds', async () => {
    const {embeddings} = await embedMany({model: provider().embedding(MODEL), values: ['one', 'two']});
    assert.deepEqual(embeddings.map((e) => e.length), [256, 256]);
  });
});

describe('@langchain/openai', () => {
  const settings = () => ({model: MODEL, temperature: 0, maxRetries: 0, apiKey: 'none', configuration: {baseURL: `${server.url}/v1`}});

  test('invokes and streams', async () => {
    const chat = new ChatOpenAI(settings());
    const reply = await chat.invoke(QUESTION);
    assert.equal(reply.content, ANSWER);
    assert.ok(reply.usage_metadata.output_tokens > 3);
    let text = '';
    for await (const chunk of await chat.stream(QUESTION)) text += chunk.content;
    assert.equal(text, ANSWER);
  });

  test('speaks the responses API', async () => {
    const reply = await new ChatOpenAI({...settings(), useResponsesApi: true}).invoke(QUESTION);
    assert.equal(reply.text, ANSWER);
  });

  test('runs a tool and uses what it says', async () => {
    const get_weather = langchainTool((city) => JSON.stringify(weatherOf(city)), {...WEATHER, name: 'get_weather'});
    const chat = new ChatOpenAI(settings()).bindTools([get_weather]);
    const messages = [new HumanMessage('What is the weather in Abuja?')];
    const call = await chat.invoke(messages);
    assert.deepEqual(call.tool_calls.map((c) => [c.name, c.args]), [['get_weather', {city: 'Abuja'}]]);
    const said = await get_weather.invoke(call.tool_calls[0]);
    assert.ok(said instanceof ToolMessage);
    assert.match((await chat.invoke([...messages, call, said])).content, /^It is sunny in Abuja/);
  });

  test('gets the form that it asks for', async () => {
    const form = z.object({n: z.number().int().min(1).max(9)});
    const {n} = await new ChatOpenAI(settings()).withStructuredOutput(form, {name: 'number', method: 'jsonSchema'}).invoke('A number.');
    assert.ok(n >= 1 && n <= 9);
  });

  test('completes text', async () => {
    const text = await new OpenAI({...settings(), maxTokens: 8}).invoke('In the beginning');
    const reply = await server.json('/v1/completions', {prompt: 'In the beginning', max_tokens: 8, temperature: 0});
    assert.equal(text, reply.choices[0].text);
  });

  test('embeds', async () => {
    const embeddings = new OpenAIEmbeddings(settings());
    const [first, second] = await embeddings.embedDocuments(['one', 'two']);
    assert.equal(first.length, 256);
    assert.notDeepEqual(first, second);
    assert.deepEqual(await embeddings.embedQuery('one'), first);
  });
});
