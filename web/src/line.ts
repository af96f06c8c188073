// A line of Markdown, measured in one pass: how far it is indented, what it begins with, and what could take long to parse.
export interface Line {
  text: string;
  at: number; // in the answer
  indent: number;
  marker: string; // of a list's item: "-", "*", "+", "." or ")"
  depth: number; // number of quotes and items that begin in it
  fence: string; // "```", or longer, or of tildes
  squaredRuns: number; // sum of the squares of the lengths of words and of runs of spaces
  nEmphases: number;
  nDelimiters: number; // others
  nFormulas: number; // signs that may begin one
  isRule: boolean; // could stand below the header of a table
  isFormula: boolean; // begins a formula on display
}

const enum Kind {
  Other,
  Word,
  Space,
}
const kDollar = '$'.charCodeAt(0);
const kBracket = '('.charCodeAt(0);
const kW = 'w'.charCodeAt(0);
const kMaxDepth = 100; // counted

// Marked reads everything that can be in a mail address as a word, delimiters too.
const kKinds = new Uint8Array(128).map((_, code) => (code === 32 || code === 9 ? Kind.Space : code > 32 && code < 127 ? Kind.Word : Kind.Other));
const kEmphasis = flags('*_');
const kDelimiter = flags('~`[]<>!$\\|:@&(');

function flags(chars: string): Uint8Array {
  const set = new Uint8Array(128);
  for (const char of chars) set[char.charCodeAt(0)] = 1;
  return set;
}

export function readLine(text: string, at: number): Line {
  const { begin, indent } = readIndent(text);
  const { marker, depth } = readMarkers(text, begin);
  const fence = '`~'.includes(text[begin] ?? ' ') ? (/^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(text.slice(begin))?.[0] ?? '') : '';
  const isRule = text.includes('-') && /^[ \t>|:-]+$/.test(text);
  const isFormula = text.startsWith('$$', begin) || text.startsWith('\\[', begin);
  return { text, at, indent, marker, depth, fence, isRule, isFormula, ...readRuns(text) };
}

function readIndent(text: string): { begin: number; indent: number } {
  let indent = 0;
  let begin = 0;
  for (; text[begin] === ' ' || text[begin] === '\t'; begin += 1) indent += text[begin] === '\t' ? 4 - (indent % 4) : 1;
  return { begin, indent };
}

const kMarker = /[ \t]*(?:([-+*])(?=[ \t]|$)|\d{1,9}([.)])(?=[ \t]|$)|>)/y;

function readMarkers(text: string, begin: number): { marker: string; depth: number } {
  kMarker.lastIndex = begin;
  let marker = '';
  let depth = 0;
  for (let match = kMarker.exec(text); match && depth < kMaxDepth; match = kMarker.exec(text)) {
    if (depth === 0) marker = match[1] ?? match[2] ?? '';
    depth += 1;
  }
  return { marker, depth };
}

function readRuns(text: string): Pick<Line, 'squaredRuns' | 'nEmphases' | 'nDelimiters' | 'nFormulas'> {
  let squaredRuns = 0;
  let nEmphases = 0;
  let nDelimiters = 0;
  let nFormulas = 0;
  let run = 0;
  let before: number = Kind.Other;
  for (let idx = 0; idx < text.length; idx += 1) {
    const code = text.charCodeAt(idx);
    const kind = code < 128 ? kKinds[code]! : Kind.Other;
    if (code < 128) {
      nEmphases += kEmphasis[code]!;
      nDelimiters += kDelimiter[code]!;
      if (code === kDollar || (code === kBracket && text[idx - 1] === '\\')) nFormulas += 1;
      if (code === kW && text.startsWith('www.', idx)) nDelimiters += 1;
    }
    if (kind !== before || kind === Kind.Other) {
      squaredRuns += run * run;
      run = 0;
    }
    run += 1;
    before = kind;
  }
  return { squaredRuns: squaredRuns + run * run, nEmphases, nDelimiters, nFormulas };
}
