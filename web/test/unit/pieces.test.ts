// Markdown is cut into pieces in linear time, the same whether it comes at once or grows, and none takes long to parse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyable } from '../../src/copyable.ts';
import { htmlOf } from '../../src/markdown.ts';
import { Splitter, type Piece } from '../../src/pieces.ts';

const piecesOf = (text: string): Piece[] => new Splitter().split(text).sections.flatMap(({ pieces }) => pieces);
const texts = (text: string): string[] => piecesOf(text).map((piece) => piece.text);
const kinds = (text: string): string[] => piecesOf(text).map(({ kind }) => kind);

const html = (text: string): string => {
  const { sections, definitions } = new Splitter().split(text);
  return sections.flatMap(({ pieces }) => pieces).map((piece) => htmlOf(piece, definitions)).join('');
};

test('blank lines end a piece, but not a list or an item', () => {
  assert.deepEqual(texts('a\nb\n\nc'), ['a\nb', 'c']);
  assert.deepEqual(texts('- a\n\n- b\n\n  more\n\nc'), ['- a\n\n- b\n\n  more', 'c']);
  assert.deepEqual(texts('1. a\n   ```\n   x\n\n   y\n   ```\n2. b'), ['1. a\n   ```\n   x\n\n   y\n   ```\n2. b']);
  assert.deepEqual(texts('> a\n\n> b'), ['> a', '> b']);
  assert.deepEqual(texts('    a\n\n    b\n\nc'), ['    a\n\n    b', 'c']);
});

test('code is a piece, with or without its end', () => {
  assert.deepEqual(piecesOf('a\n```py x\nb\n\n``\n````\nc'), [
    { kind: 'markdown', text: 'a', language: '' },
    { kind: 'code', text: 'b\n\n``', language: 'py x' },
    { kind: 'markdown', text: 'c', language: '' },
  ]);
  assert.deepEqual(piecesOf('~~~\n```\nb'), [{ kind: 'code', text: '```\nb', language: '' }]);
  assert.deepEqual(piecesOf('```'), [{ kind: 'code', text: '', language: '' }]);
  assert.deepEqual(piecesOf('```\n```\n'), [{ kind: 'code', text: '', language: '' }]);
  assert.deepEqual(piecesOf('  ```\n  a\n    b\n  ```'), [{ kind: 'code', text: 'a\n  b', language: '' }]);
  assert.deepEqual(kinds('`'.repeat(1_000)), ['code']);
});

test('links are found by definitions that stand elsewhere', () => {
  assert.match(html('See [this][A].\n\n[a]: https://a.example/'), /<a href="https:\/\/a\.example\/">this<\/a>/);
});

test('a long list, a long table and a long paragraph are cut at their lines, and stay what they are', () => {
  const list = html('- **a** `b`\n'.repeat(3_000));
  assert.equal(list.match(/<li>/g)?.length, 3_000);
  const table = html(`| a | b |\n|---|--:|\n${'| *1* | 2 |\n'.repeat(3_000)}`);
  assert.equal(table.match(/<em>/g)?.length, 3_000);
  assert.equal(table.match(/<p>/g), null);
  assert.equal(kinds('Some *text*.\n'.repeat(3_000)).includes('plain'), false);
});

test('one line that costs too much is plain, and what stands around it is not', () => {
  assert.deepEqual(kinds(`**a**\n\n${'*a_'.repeat(5_000)}\n\n**b**`), ['markdown', 'plain', 'markdown']);
  assert.deepEqual(kinds(`- a\n- ${'> '.repeat(500)}b\n- c`), ['markdown', 'plain', 'markdown']);
});

const kUnits = ['a', 'a.', 'a\n-\n', 'a\n\n', ' ', '*', '_', '*a_', '[', '`', '|', '<', '$', '\\[', '\n  \\[', '> ', '- ', '1. ', '- a\n', '- a\n\n', '```\n',
  '|a|\n|-|\n', '\n', '\n- **\n', '[a]: b\n', '!', 'www.\t', 'http://', 'a@b', '\u3000', '\r', '- > ', '$\n\t', '\n      - a', '***a* '];

test('whatever is repeated, each piece is parsed soon', () => {
  for (const unit of kUnits) {
    for (const [before, after] of [['', ''], ['a', '@'], ['- ', 'b'], ['|a|\n|-|\n', '']] as const) {
      const text = before + unit.repeat(Math.ceil(100_000 / unit.length)) + after;
      const seen = new Set<string>();
      for (const piece of piecesOf(text)) {
        if (piece.kind !== 'markdown' || seen.has(piece.text) || seen.size > 5) continue;
        seen.add(piece.text);
        const before = process.cpuUsage().user;
        htmlOf(piece, new Map());
        const tookMs = (process.cpuUsage().user - before) / 1_000;
        assert.ok(tookMs < 1_000, `${tookMs} ms for ${JSON.stringify(piece.text.slice(0, 40))}, ${piece.text.length} characters`);
      }
    }
  }
});

// A generator of its own, so that a failure can be repeated.
function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >> 8) % n;
  };
}

test('a text that grows ends in the same pieces as one that comes whole, and nothing is lost', () => {
  const atoms = ['a', ' ', '\n', '\n\n', '- b', '1. c', '    ', '```\n', '> ', '|a|b|\n', '|-|-|\n', '**d** ', '[e]: f\n', '$$', 'long '.repeat(200), '*a_'.repeat(500)];
  const next = random(7);
  for (let round = 0; round < 200; round += 1) {
    const growing = new Splitter();
    let text = '';
    while (text.length < 20_000) {
      for (let n = next(12); n >= 0; n -= 1) text += atoms[next(atoms.length)]!;
      growing.split(text);
    }
    const { sections, definitions } = growing.split(text);
    assert.deepEqual(sections, new Splitter().split(text).sections, JSON.stringify(text.slice(0, 200)));
    assert.deepEqual(definitions, new Splitter().split(text).definitions);
    assert.equal(sections.map(({ source }) => source).join(''), text.slice(text.length - sections.reduce((sum, { source }) => sum + source.length, 0)));
    const words = (each: string) => each.replace(/[`~]{3,}|\s/g, '');
    assert.equal(words(sections.map(({ source }) => source).join('')), words(text));
  }
});

test('what is copied has unseen characters spelled out, in code all of them', () => {
  assert.equal(copyable('\u2764\ufe0f \u202e `a\u200bb`\n```\n\u2764\ufe0f\u200b\n```\n\ufe0f'), '\u2764\ufe0f \\u{202e} `a\\u{200b}b`\n```\n\u2764\\u{fe0f}\\u{200b}\n```\n\ufe0f');
});
