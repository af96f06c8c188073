import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamAnswer, type Delta } from '../../src/responses.ts';

const kEnd = '{"type": "response.completed", "response": {"status": "completed"}}';
const kStream = { headers: { 'Content-Type': 'text/event-stream' } };
const events = (...datas: string[]) => new Response(datas.map((data) => `data: ${data}\n\n`).join(''), kStream);
const refusal = (status: number, param: string) => new Response(JSON.stringify({ error: { message: 'no', param } }), { status });

// What the page is told, where the server gives these answers one after the other, and what was asked of it.
async function run(...answers: Response[]): Promise<{ deltas: Delta[]; asked: string[]; bodies: any[] }> {
  const asked: string[] = [], bodies: any[] = [];
  globalThis.fetch = async (url, init) => {
    const headers = new Headers(init?.headers);
    assert.deepEqual([headers.get('authorization'), headers.get('x-session-id')], ['Bearer k', 's']);
    asked.push(`${init?.method ?? 'GET'} ${url}`);
    if (init?.body) bodies.push(JSON.parse(String(init.body)));
    return init?.method === 'DELETE' ? new Response('{}') : answers.shift()!;
  };
  const deltas: Delta[] = [];
  const body = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
  for await (const delta of streamAnswer(body, { key: 'k', session: 's' }, new AbortController().signal)) deltas.push(delta);
  return { deltas, asked, bodies };
}

const created = '{"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1"}}';
const text = (nth: number, delta: string) => `{"type": "response.output_text.delta", "sequence_number": ${nth}, "delta": "${delta}"}`;
const textOf = (deltas: Delta[]) => deltas.map((delta) => delta.whole?.text ?? delta.text ?? '').join('');

test('an answer is asked for in the background, and deleted at its end', async () => {
  const { deltas, asked, bodies } = await run(events(created, text(1, 'a'), text(2, 'b'), kEnd));
  assert.equal(textOf(deltas), 'ab');
  assert.deepEqual(asked, ['POST v1/responses', 'DELETE v1/responses/resp_1']);
  assert.deepEqual(bodies[0], { model: 'm', input: [{ type: 'message', role: 'user', content: 'hi' }], stream: true, background: true });
});

test('a lost connection is opened again after the last event', async () => {
  const { deltas, asked } = await run(events(created, text(1, 'a')), events(text(2, 'b')), events(text(3, 'c'), kEnd));
  assert.equal(textOf(deltas), 'abc');
  assert.deepEqual(asked.slice(1, 3), ['GET v1/responses/resp_1?stream=true&starting_after=1', 'GET v1/responses/resp_1?stream=true&starting_after=2']);
});

test('one whose events are not kept is taken whole', async () => {
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'all of it' }] }, { type: 'function_call', call_id: 'c', name: 'f' }];
  const whole = new Response(JSON.stringify({ id: 'resp_1', status: 'completed', output }));
  const gone = '{"type": "error", "error": {"message": "gone", "param": "stream"}}';
  for (const answers of [[events(created, text(1, 'a')), refusal(400, 'stream')], [events(created, text(1, 'a'), gone)], [events(created, text(1, 'a')), events(gone)]]) {
    const { deltas } = await run(...answers, whole.clone());
    assert.deepEqual(deltas.at(-1)?.whole, { text: 'all of it', reasoning: '', calls: [{ id: 'c', name: 'f', arguments: '' }] });
  }
});

test('a server without room to keep answers streams them', async () => {
  const { deltas, bodies, asked } = await run(refusal(400, 'background'), events(created, text(1, 'a'), kEnd));
  assert.equal(asked.length, 2, 'nothing is deleted that is not there');
  assert.equal(textOf(deltas), 'a');
  assert.deepEqual([bodies[1].background, bodies[1].store], [undefined, false]);
});

test('a connection that brings nothing is an error', async () => {
  await assert.rejects(run(events(created, text(1, 'a')), events()), { failure: 'dropped' });
  await assert.rejects(run(events(created, text(1, 'a')), refusal(404, '')), { failure: 'dropped' });
  await assert.rejects(run(events(created, '{"type": "response.failed", "response": {"status": "failed", "error": {"message": "out of memory"}}}')), { message: 'Out of memory.' });
});

test('usage is taken where it is counts, and nowhere else', async () => {
  const ended = async (usage: string, decodeMs = '7') => {
    const end = `{"type": "response.completed", "response": {"status": "completed", "usage": ${usage}, "trace": {"decode_ms": ${decodeMs}}}}`;
    return (await run(events(created, end))).deltas.at(-1)!;
  };
  const counts = '"input_tokens": 9, "output_tokens": 4';
  assert.deepEqual((await ended(`{${counts}, "input_tokens_details": {"cached_tokens": 3}}`)).usage, { nPrompt: 9, nCompletion: 4, nCached: 3 });
  assert.deepEqual((await ended(`{${counts}, "input_tokens_details": "x"}`)).usage, { nPrompt: 9, nCompletion: 4, nCached: 0 });
  for (const value of ['"9"', 'null', '-1', '1e999', '{}', '[9]']) {
    const delta = await ended(`{"input_tokens": ${value}, "output_tokens": 4}`, value);
    assert.deepEqual([delta.usage, delta.decodeMs], [undefined, undefined], value);
  }
  for (const usage of ['7', '"x"', 'true', '[]']) assert.equal((await ended(usage)).usage, undefined);
});
