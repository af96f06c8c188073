// A message as it is copied: what is not seen is spelled out, and in code all of it.
import { printable, printableProse } from './printable.ts';

const kFence = /^[ \t>]*(?:[-+*]|\d{1,9}[.)])?[ \t]*(`{3,}|~{3,})/;

export function copyable(text: string): string {
  let fence = '';
  return text.split('\n').map((line) => {
    const mark = kFence.exec(line)?.[1] ?? '';
    const isInside = fence !== '';
    if (!isInside) fence = mark;
    else if (mark.startsWith(fence)) fence = '';
    return isInside || mark || /^(?: {4}|\t)/.test(line) ? printable(line) : printableLine(line);
  }).join('\n');
}

// A line of prose: code stands between backticks.
function printableLine(line: string): string {
  return line.split('`').map((part, idx) => (idx % 2 === 1 ? printable(part) : printableProse(part))).join('`');
}
