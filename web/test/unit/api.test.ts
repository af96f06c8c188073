import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listModels, listTools, streamChat, type Delta } from '../../src/api.ts';

function answerWith(body: string, type = 'application/json'): void {
  globalThis.fetch = async () => new Response(body, { headers: { 'Content-Type': type } });
}

async function deltasOf(...chunks: string[]): Promise<Delta[]> {
  answerWith([...chunks, '{"choices": [{"delta": {}, "finish_reason": "stop"}]}', '[DONE]'].map((data) => `data: ${data}\n\n`).join(''), 'text/event-stream');
  const deltas: Delta[] = [];
  for await (const delta of streamChat({ model: 'm', messages: [] }, '', new AbortController().signal)) deltas.push(delta);
  return deltas.slice(0, -1);
}

test('usage is taken where it is counts, and nowhere else', async () => {
  const counts = '"prompt_tokens": 9, "completion_tokens": 4';
  const [whole, bare] = await deltasOf(`{"usage": {${counts}, "prompt_tokens_details": {"cached_tokens": 3}}}`, `{"usage": {${counts}, "prompt_tokens_details": "x"}}`);
  assert.deepEqual(whole?.usage, { nPrompt: 9, nCompletion: 4, nCached: 3 });
  assert.deepEqual(bare?.usage, { nPrompt: 9, nCompletion: 4, nCached: 0 });
  for (const value of ['"9"', 'null', '-1', '1e999', '{}', '[9]']) {
    const [delta] = await deltasOf(`{"usage": {"prompt_tokens": ${value}, "completion_tokens": 4}, "trace": {"decode_ms": ${value}}}`);
    assert.deepEqual([delta?.usage, delta?.decodeMs], [undefined, undefined], value);
  }
  for (const usage of ['7', '"x"', 'true', '[]']) assert.equal((await deltasOf(`{"usage": ${usage}}`))[0]?.usage, undefined);
});

test('numbers of a model that are none are left out', async () => {
  answerWith('{"data": [{"id": "m", "context_length": "1024", "n_params": null, "weight_bytes": 1e999, "kv_bytes": 8, "state": "ready"}]}');
  assert.deepEqual(await listModels(''), [{ id: 'm', context_length: undefined, n_params: undefined, weight_bytes: undefined, kv_bytes: 8, state: 'ready' }]);
});

test('a tool whose description is no text has none', async () => {
  const tools = ['"Reads."', '7', 'null', '["x"]'].map((description) => `{"name": "t", "function": {"name": "s__t", "description": ${description}}}`);
  answerWith(`{"tools": [${tools.join(', ')}, {"name": "u", "function": {"name": "s__u"}}, {"name": "v"}, 3]}`);
  assert.deepEqual((await listTools('s', '')).tools.map((tool) => tool.function.description), ['Reads.', '', '', '', '']);
});
