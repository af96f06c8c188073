// OpenAI's Agents SDK: a framework whose turns continue from stored responses.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Agent, OpenAIProvider, Runner, tool} from '@openai/agents';
import {z} from 'zod';
import {MODEL, serveFile} from './server.mjs';

const server = await serveFile();
const modelProvider = new OpenAIProvider({apiKey: 'none', baseURL: `${server.url}/v1`, useResponses: true});
const runner = new Runner({modelProvider, tracingDisabled: true});

for (const stream of [false, true]) {
  test(`two turns with a tool go on from stored responses, ${stream ? 'streamed' : 'whole'}`, async () => {
    const asked = [];
    const weather = tool({
      name: 'get_weather',
      description: 'Get the weather of a city',
      parameters: z.object({city: z.string()}),
      execute: ({city}) => {
        asked.push(city);
        return JSON.stringify({city, weather: 'sunny', degrees: 7});
      },
    });
    const agent = new Agent({name: 'Helper', model: MODEL, modelSettings: {temperature: 0}, tools: [weather]});
    const turn = async (input, options) => {
      const result = await runner.run(agent, input, {stream, maxTurns: 4, ...options});
      if (stream) await result.completed;
      return result;
    };
    const first = await turn('What is the weather in Abuja?');
    assert.match(first.finalOutput, /^It is sunny in Abuja/);
    assert.deepEqual(asked, ['Abuja']);
    const second = await turn('What is the capital of France?', {previousResponseId: first.lastResponseId});
    assert.match(second.finalOutput, /Paris/);
    const stored = await (await fetch(`${server.url}/v1/responses/${second.lastResponseId}`)).json();
    assert.equal(stored.previous_response_id, first.lastResponseId);
  });
}

test('an answer has the form that an agent asks for', async () => {
  const agent = new Agent({name: 'Helper', model: MODEL, modelSettings: {temperature: 0}, outputType: z.object({n: z.number().int().min(1).max(9)})});
  const {finalOutput} = await runner.run(agent, 'A number.');
  assert.ok(finalOutput.n >= 1 && finalOutput.n <= 9);
});
