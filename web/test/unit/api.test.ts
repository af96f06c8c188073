import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listModels, listTools } from '../../src/api.ts';

function answerWith(body: string, type = 'application/json'): void {
  globalThis.fetch = async () => new Response(body, { headers: { 'Content-Type': type } });
}

test('numbers of a model that are none are left out', async () => {
  answerWith('{"data": [{"id": "m", "context_length": "1024", "n_params": null, "weight_bytes": 1e999, "kv_bytes": 8, "state": "ready"}]}');
  assert.deepEqual(await listModels(''), [{ id: 'm', context_length: undefined, n_params: undefined, weight_bytes: undefined, kv_bytes: 8, state: 'ready' }]);
});

test('a tool whose description is no text has none', async () => {
  const tools = ['"Reads."', '7', 'null', '["x"]'].map((description) => `{"name": "t", "function": {"name": "s__t", "description": ${description}}}`);
  answerWith(`{"tools": [${tools.join(', ')}, {"name": "u", "function": {"name": "s__u"}}, {"name": "v"}, 3]}`);
  assert.deepEqual((await listTools('s', '')).tools.map((tool) => tool.function.description), ['Reads.', '', '', '', '']);
});
