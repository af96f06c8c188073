import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvents, SseParser } from '../../src/sse.ts';

const kStream = ': ping\r\n\r\ndata: {"a": 1}\n\ndata: zwei\ndata:drei ✓\r\n\r\nevent: x\ndata: [DONE]\n\ndata: cut off';
const kEvents = ['{"a": 1}', 'zwei\ndrei ✓', '[DONE]'];

test('events are the same for every cut of the text', () => {
  for (let cut = 0; cut <= kStream.length; ++cut) {
    const parser = new SseParser();
    assert.deepEqual([...parser.push(kStream.slice(0, cut)), ...parser.push(kStream.slice(cut))], kEvents, `cut at ${cut}`);
  }
});

test('events are the same byte by byte', async () => {
  const bytes = new TextEncoder().encode(kStream);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const events: string[] = [];
  for await (const event of readEvents(body)) events.push(event);
  assert.deepEqual(events, kEvents);
});
