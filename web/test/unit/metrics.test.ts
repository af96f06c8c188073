import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePrometheus, total } from '../../src/metrics.ts';

const kText = `# HELP x Something.
# TYPE x counter
x{model_name="a \\"b\\" \\\\ c",le="+Inf"} 3
x{model_name="d"} 4.5e1 1700000000
y 2
broken{ 7
z{le="0.5"} +Inf
`;

test('reads names, labels, values and skips what is broken', () => {
  const samples = parsePrometheus(kText);
  assert.deepEqual(samples.map(({ name, value }) => [name, value]), [['x', 3], ['x', 45], ['y', 2], ['z', Infinity]]);
  assert.deepEqual(samples[0]!.labels, { model_name: 'a "b" \\ c', le: '+Inf' });
});

test('sums a metric over its labels, under the first name that is there', () => {
  const samples = parsePrometheus(kText);
  assert.equal(total(samples, 'missing', 'x'), 48);
  assert.equal(total(samples, 'missing'), null);
});
