import assert from 'node:assert/strict';
import { test } from 'node:test';
import table from '../../../src/base/unseen_chars.txt';
import { printable, printableProse } from '../../src/printable.ts';

const kMaxCode = 0x10ffff;
const kBlank = [0x2800, 0x13441, 0x13442, 0x16fe4, 0x1d159]; // letters and marks without a glyph
const kTableVersion = 17; // of Unicode

// Which characters the lines of the table hold, read without the page's own pattern.
function listed(...kinds: string[]): Set<number> {
  const codes = new Set<number>();
  for (const line of table.split('\n').filter((each) => kinds.some((kind) => each.startsWith(`${kind}(`)))) {
    const [first, last] = line.slice(line.indexOf('(') + 1, line.indexOf(')')).split(', ').map(Number);
    for (let code = first!; code <= last!; ++code) codes.add(code);
  }
  return codes;
}

function codesWhere(holds: (text: string, code: number) => boolean): number[] {
  const codes = [];
  for (let code = 0; code <= kMaxCode; ++code) {
    const isSurrogate = code >= 0xd800 && code < 0xe000;
    if (!isSurrogate && holds(String.fromCodePoint(code), code)) codes.push(code);
  }
  return codes;
}

// printable_test.cpp includes the same lines and asks the same of the terminal.
test('the page spells out the characters of the table and no others', () => {
  const unseen = listed('UNSEEN', 'IN_PROSE');
  const unseenInProse = listed('UNSEEN');
  assert.ok(unseenInProse.size > 100 && unseen.size > unseenInProse.size);
  const isLine = (text: string) => text === '\n' || text === '\t';
  assert.deepEqual(codesWhere((text, code) => (printable(text) !== text) !== (unseen.has(code) && !isLine(text))), []);
  assert.deepEqual(codesWhere((text, code) => (printableProse(text) !== text) !== (unseenInProse.has(code) && !isLine(text))), []);
});

test('the table has every character that Unicode says is not seen', (t) => {
  const known = Number.parseFloat(process.versions['unicode'] ?? 'NaN');
  if (!(known <= kTableVersion)) return t.skip(`Node knows Unicode ${known}, the table is of ${kTableVersion}`);
  const isUnseen = (text: string) => /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  const unseen = listed('UNSEEN', 'IN_PROSE');
  assert.deepEqual(codesWhere((text, code) => isUnseen(text) && !unseen.has(code)), []);
  if (known === kTableVersion) assert.deepEqual(codesWhere((text, code) => !isUnseen(text) && unseen.has(code)), kBlank);
});

test('what is spelled out can be told apart', () => {
  assert.equal(printable('Paris\u{e006b}\u200b\u00ad\ufe0f\u3164\u2800\x1b[201~\n\tb'), 'Paris\\u{e006b}\\u{200b}\\u{ad}\\u{fe0f}\\u{3164}\\u{2800}\\u{1b}[201~\n\tb');
  assert.equal(printable('a\ud800b'), 'a\\u{d800}b');
});

test('prose keeps its emoji and its scripts', () => {
  const prose = '\u2764\ufe0f \u{1f469}\u200d\u{1f680} 1\ufe0f\u20e3 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}';
  assert.equal(printableProse(prose), prose);
  assert.equal(printableProse('\x1b[31m\u202egpj\u3164'), '\\u{1b}[31m\\u{202e}gpj\\u{3164}');
});
