import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merge, path, ticks } from '../../src/metrics.ts';

test('newer samples come after those that are there, and the oldest go', () => {
  const first = merge({}, { time: [10, 15], running: [1, null] }, 20);
  assert.deepEqual(first, { time: [10, 15], running: [1, null] });
  assert.deepEqual(merge(first, { time: [], running: [] }, 20), first);
  assert.deepEqual(merge(first, { time: [20, 34], running: [2, 3] }, 20), { time: [15, 20, 34], running: [null, 2, 3] });
  assert.deepEqual(merge({}, { time: [], running: [] }, 20), { time: [], running: [] });
});

test('a scale has round numbers and covers the largest value', () => {
  assert.deepEqual(ticks(1, 4), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(ticks(1, 4, true), [0, 1]);
  assert.deepEqual(ticks(7, 4, true), [0, 2, 4, 6, 8]);
  for (const top of [0.003, 0.9, 1, 3, 17, 99, 1234, 5e9]) {
    const scale = ticks(top, 4);
    assert.ok(scale.at(-1)! >= top * 0.999 && scale.length <= 6, `${top}: ${scale}`);
  }
});

test('a line has gaps where nothing was measured, and a lone point is a dot', () => {
  const same = (n: number) => n;
  assert.equal(path([1, 2, null, 3, null], same, same), 'M0.0 1.0L1.0 2.0M3.0 3.0h0');
  assert.equal(path([null, null], same, same), '');
});
