// The parts of the documentation that need Node: docs/openapi.json is valid OpenAPI, its examples fit their schemas,
// and the guide's JavaScript runs.
import assert from 'node:assert/strict';
import {readFile, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import {test} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';
import SwaggerParser from '@apidevtools/swagger-parser';
import Ajv from 'ajv/dist/2020.js';
import {startServer} from './server.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const API = path.join(HERE, '../../docs/openapi.json');

// [path, schema, value] of every example of a body.
function* examples(api) {
  for (const [route, methods] of Object.entries(api.paths)) {
    for (const operation of Object.values(methods)) {
      const bodies = {request: operation.requestBody, ...operation.responses};
      for (const [of, body] of Object.entries(bodies)) {
        const {schema, examples: named = {}} = body?.content?.['application/json'] ?? {};
        for (const [name, {value}] of Object.entries(named)) yield [`${route} ${of} ${name}`, schema, value];
      }
    }
  }
}

test('docs/openapi.json is valid', async () => {
  const api = await SwaggerParser.validate(API);
  assert.equal(api.info.title, 'realizar');
});

test('examples fit their schemas, except requests that are refused', async () => {
  const api = await SwaggerParser.dereference(API);
  const ajv = new Ajv({strict: false});
  const answered = new Set([...examples(api)].map(([place]) => place).filter((place) => / 200 /.test(place)));
  for (const [place, schema, value] of examples(api)) {
    const isRefused = / request /.test(place) && !answered.has(place.replace(' request ', ' 200 '));
    if (isRefused) continue;
    const fits = ajv.compile(schema);
    assert.ok(fits(value), `${place}: ${ajv.errorsText(fits.errors)}`);
  }
});

test('the JavaScript of docs/guide.md runs', async (t) => {
  const server = await startServer();
  const guide = await readFile(path.join(HERE, '../../docs/guide.md'), 'utf8');
  const [, code] = guide.match(/```js\n(.*?)```/s);
  // In the folder of the packages that it imports.
  const file = path.join(HERE, 'node_modules', `guide-${process.pid}.mjs`);
  await writeFile(file, code.replace('http://localhost:8080', server.url));
  const shown = t.mock.method(console, 'log', () => {});
  try {
    await import(pathToFileURL(file));
    assert.deepEqual(shown.mock.calls.map((call) => call.arguments), [['The capital of France is Paris.']]);
  } finally {
    await rm(file);
    assert.equal(await server.stop(), 0);
  }
});
