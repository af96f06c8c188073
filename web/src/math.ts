// TeX in Markdown: $..$ and \(..\) in a line, $$..$$ and \[..\] on display, ```math fences. Each becomes a <code> element
// of class "math", which Formula.tsx draws; code keeps its dollar signs, since Markdown takes code first.
import type { TokenizerAndRendererExtension } from 'marked';
import { escape } from './escape.ts';

const kText = String.raw`(?:(?!\n[ \t]*\n)[^])+?`; // no blank line, so that a lone delimiter costs one paragraph at most
const kBlock = new RegExp(String.raw`^ {0,3}(?:\$\$(${kText})\$\$|\\\[(${kText})\\\])[ \t]*(?:\n|$)`);
const kDisplay = new RegExp(String.raw`^(?:\$\$(${kText})\$\$|\\\[(${kText})\\\])`);
const kInline = new RegExp(String.raw`^\\\((${kText})\\\)`);
// As Pandoc has it: no space inside the signs, and no digit after them. "$5 and $10" are prices.
const kDollars = /^\$(?!\s)((?:\\[^]|[^\\$`\n])+?)(?<!\s)\$(?!\d)/;

export function formula(tex: string, display: boolean): string {
  return `<code class="math${display ? ' display' : ''}">${escape(tex.trim())}</code>`;
}

export const kMathExtensions: TokenizerAndRendererExtension[] = [
  {
    name: 'mathBlock',
    level: 'block',
    start: (source) => source.search(/(?<=^|\n) {0,3}(?:\$\$|\\\[)/),
    tokenizer(source) {
      const match = kBlock.exec(source);
      return match ? { type: 'mathBlock', raw: match[0], tex: match[1] ?? match[2] } : undefined;
    },
    renderer: ({ tex }) => `<p>${formula(tex, true)}</p>`,
  },
  {
    name: 'mathInline',
    level: 'inline',
    start: (source) => source.search(/\$|\\[([]/),
    tokenizer(source) {
      const display = kDisplay.exec(source);
      const match = display ?? kInline.exec(source) ?? kDollars.exec(source);
      return match ? { type: 'mathInline', raw: match[0], tex: match[1] ?? match[2], display: !!display } : undefined;
    },
    renderer: ({ tex, display }) => formula(tex, display),
  },
];

// Where a formula on display begins whose end has not come yet; the length of the text where there is none.
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
