// TeX in Markdown: $..$ and \(..\) in a line, $$..$$ and \[..\] on display, ```math fences. Each becomes a <code> element
// of class "math", which Formula.tsx draws; code keeps its dollar signs, since Markdown takes code first.
import type { TokenizerAndRendererExtension } from 'marked';
import { escape } from './escape.ts';

// No formula has a blank line, so that a lone delimiter costs one paragraph at most.
const kBlank = /\n[ \t]*\n/;

// The TeX between delimiters at the beginning of the source; undefined where they do not close.
function between(source: string, open: string, close: string): string | undefined {
  if (!source.startsWith(open)) return undefined;
  const end = source.indexOf(close, open.length + 1);
  const tex = source.slice(open.length, end);
  return end === -1 || kBlank.test(tex) ? undefined : tex;
}

const display = (source: string): string | undefined => between(source, '$$', '$$') ?? between(source, '\\[', '\\]');
const kDelimiterChars = 2;

// Pandoc's rule: no space inside the signs, and no digit after them. "$5 and $10" are prices.
const kDollars = /^\$(?!\s)((?:\\[^]|[^\\$`\n])+?)(?<!\s)\$(?!\d)/;

export function formula(tex: string, display: boolean): string {
  return `<code class="math${display ? ' display' : ''}">${escape(tex.trim())}</code>`;
}

export const kMathExtensions: TokenizerAndRendererExtension[] = [
  {
    name: 'mathBlock',
    level: 'block',
    start: (source) => source.search(/^ {0,3}(?:\$\$|\\\[)/m),
    tokenizer(source) {
      const indent = /^ {0,3}/.exec(source)![0];
      const tex = display(source.slice(indent.length));
      if (tex === undefined) return undefined;
      const raw = source.slice(0, indent.length + tex.length + 2 * kDelimiterChars);
      const end = /^[ \t]*(?:\n|$)/.exec(source.slice(raw.length))?.[0];
      return end === undefined ? undefined : { type: 'mathBlock', raw: raw + end, tex };
    },
    renderer: ({ tex }) => `<p>${formula(tex, true)}</p>`,
  },
  {
    name: 'mathInline',
    level: 'inline',
    start: (source) => source.search(/\$|\\[([]/),
    tokenizer(source) {
      const shown = display(source);
      const tex = shown ?? between(source, '\\(', '\\)');
      if (tex !== undefined) return { type: 'mathInline', raw: source.slice(0, tex.length + 2 * kDelimiterChars), tex, display: shown !== undefined };
      const match = kDollars.exec(source);
      return match ? { type: 'mathInline', raw: match[0], tex: match[1], display: false } : undefined;
    },
    renderer: ({ tex, display }) => formula(tex, display),
  },
];

// The beginning of a formula on display whose end has not come yet; the length of the text if there is none.
export function openFormula(text: string): number {
  const fences = text.match(/^ {0,3}```/gm)?.length ?? 0;
  if (fences % 2 === 1) return text.length;
  const paragraph = text.lastIndexOf('\n\n') + 1;
  const rest = text.slice(paragraph);
  const dollars = [...rest.matchAll(/\$\$/g)];
  if (dollars.length % 2 === 1) return paragraph + dollars.at(-1)!.index;
  const bracket = rest.lastIndexOf('\\[');
  return bracket > rest.lastIndexOf('\\]') ? paragraph + bracket : text.length;
}
