// Markdown cut into pieces that are parsed one by one, so that no answer holds up the page. marked's time grows with the
// square of its input and cannot be interrupted; so a scan in linear time cuts at blank lines, estimates the cost of each
// piece, and cuts further where that is too much. What costs too much in one line stays plain text.
import { readLine, type Line } from './line.ts';

export interface Piece {
  kind: 'markdown' | 'code' | 'plain';
  text: string; // of code: without its fences
  language: string; // of code: what stands behind the fence
}

// Pieces that are shown together.
export interface Section {
  pieces: Piece[];
  source: string;
}

const kMaxSectionPieces = 16;
const kMaxSectionChars = 6_000;
const kCodeCost = 4; // of a block of code, in milliseconds
const kMaxDepth = 24; // of quotes and lists, which marked reads by recursion
const kMaxHeaderChars = 1_000; // of a table, whose header stands again above each piece
const kMaxDefinitions = 200;

// Milliseconds that marked 18.2 and the nodes take at most, as measured on a slow machine.
const kMaxCost = 30; // of a piece
const kMaxSectionCost = 20;
const kCost = {
  start: 1e-4, // of each line that may begin a table or a formula, for each character of the piece
  line: 4.5e-6, // of each line (once more for each quote and list around it), for each character of the piece
  emphasis: 3e-5, // of "*" and "_", for each character of the paragraph
  delimiter: 5e-6, // of other delimiters, for each character of the paragraph
  run: 5.5e-6, // of the square of the length of a word or of a run of spaces
  node: 2e-2, // of a delimiter, which may become an element
  formula: 0.15,
};

class Paragraph {
  nChars = 0;
  nEmphases = 0;
  nDelimiters = 0;

  add(line: Line): void {
    this.nChars += line.text.length;
    this.nEmphases += line.nEmphases;
    this.nDelimiters += line.nDelimiters;
  }

  costWith(line?: Line): number {
    const nChars = this.nChars + (line?.text.length ?? 0);
    const nEmphases = this.nEmphases + (line?.nEmphases ?? 0);
    const nDelimiters = this.nDelimiters + (line?.nDelimiters ?? 0);
    return nChars * (nEmphases * kCost.emphasis + nDelimiters * kCost.delimiter);
  }
}

// A piece while its lines come, with its cost so far.
class Draft {
  readonly lines: Line[] = [];
  private nChars = 0;
  private depths = 0; // of all lines
  private nStarts = 0; // of tables and formulas
  private fixedCost = 0; // of finished paragraphs, of runs and nodes
  private paragraph = new Paragraph();
  private tableHeader = '';
  private fence: Line | undefined; // an open one in a list
  private markerIndent = 0; // of the last item
  private lastCut = 0; // the last line before which this piece could end
  private isPlain = false;

  // `header`: of a table that this piece goes on with.
  constructor(private readonly first: Line, private readonly header = '') {
    this.tableHeader = header;
    this.nChars = header.length;
  }

  get start(): number {
    return this.first.at;
  }

  get goesOnWith(): string {
    return this.header;
  }

  get totalCost(): number {
    return this.isPlain ? 0 : this.cost(this.paragraph.costWith());
  }

  private get isList(): boolean {
    return this.first.marker !== '';
  }

  private get isIndentedCode(): boolean {
    return !this.isList && this.first.indent >= 4;
  }

  // Whether the line belongs to this piece though a blank line stands before it.
  holdsAfterBlank(line: Line): boolean {
    if (this.isList) return line.marker !== '' || line.indent >= 2;
    return this.isIndentedCode && line.indent >= 4;
  }

  // Whether a fence belongs to an item of this list.
  holdsFence(line: Line): boolean {
    return this.isList && line.indent >= this.first.indent + 2;
  }

  // Gives the piece that goes on after this one, where the line is too much for it.
  add(line: Line): Draft | undefined {
    const canCut = this.lines.length > 0 && this.canEndBefore(line);
    if (this.lines.length > 0 && (this.isPlain || this.costWith(line) > kMaxCost)) {
      if (canCut) return this.continuedBy([line]);
      if (this.lastCut > 0) return this.continuedBy([...this.lines.splice(this.lastCut), line]);
    }
    if (canCut) this.lastCut = this.lines.length;
    this.put(line);
    return undefined;
  }

  addBlank(at: number): void {
    this.lines.push(readLine('', at));
    this.nChars += 1;
    this.endParagraph();
  }

  piece(): Piece {
    const text = this.lines.map((line) => line.text).join('\n');
    return { kind: this.isPlain ? 'plain' : 'markdown', text: this.header && !this.isPlain ? `${this.header}\n${text}` : text, language: '' };
  }

  private continuedBy(lines: Line[]): Draft {
    const next = new Draft(lines[0]!, this.tableHeader);
    for (const line of lines) {
      if (line.text === '') next.addBlank(line.at);
      else next.put(line);
    }
    return next;
  }

  // A line with four spaces would be code at the beginning of a piece.
  private canEndBefore(line: Line): boolean {
    if (this.isList) return line.marker !== '' && line.indent <= this.first.indent;
    return line.indent < 4 || this.isIndentedCode;
  }

  private put(line: Line): void {
    const isCode = this.isInFence(line) || this.isIndentedCode;
    this.readTable(line);
    if (!isCode && this.startsParagraph(line)) this.endParagraph();
    if (!isCode && line.marker !== '') this.markerIndent = line.indent;
    this.lines.push(line);
    this.nChars += line.text.length + 1;
    this.depths += this.depthOf(line);
    if (line.isRule || line.isFormula) this.nStarts += 1;
    if (!isCode) this.paragraph.add(line);
    this.fixedCost += fixedCost(line);
    if (line.depth > kMaxDepth || this.totalCost > kMaxCost) this.isPlain = true;
  }

  private isInFence(line: Line): boolean {
    if (!this.isList) return false;
    if (this.fence && line.indent < this.fence.indent) this.fence = undefined;
    const isInside = this.fence !== undefined;
    if (this.fence && line.fence.startsWith(this.fence.fence) && line.text.trim() === line.fence) this.fence = undefined;
    else if (!this.fence && line.fence && this.holdsFence(line)) this.fence = line;
    return isInside;
  }

  private readTable(line: Line): void {
    const above = this.lines.at(-1)?.text ?? '';
    const isRow = line.text.includes('|') && line.marker === '' && line.depth === 0 && line.indent < 4;
    if (!isRow) this.tableHeader = '';
    else if (this.tableHeader === '' && above.includes('|') && above.length + line.text.length < kMaxHeaderChars && line.isRule) {
      this.tableHeader = `${above}\n${line.text}`;
    }
  }

  // Items and rows are read each by itself, so that the square of their lengths is small.
  private startsParagraph(line: Line): boolean {
    if (this.tableHeader !== '') return true;
    if (!this.isList || line.marker === '') return false;
    return line.indent <= this.first.indent || ('-+*'.includes(line.marker) && line.indent <= this.markerIndent + 5);
  }

  private endParagraph(): void {
    this.fixedCost += this.paragraph.costWith();
    this.paragraph = new Paragraph();
  }

  private depthOf(line: Line): number {
    return 1 + line.depth + (this.isList ? line.indent >> 1 : 0);
  }

  private cost(paragraphCost: number): number {
    return this.fixedCost + paragraphCost + this.nChars * (this.depths * kCost.line + this.nStarts * kCost.start);
  }

  private costWith(line: Line): number {
    if (line.depth > kMaxDepth) return Infinity;
    const paragraphs = this.startsParagraph(line) ? this.paragraph.costWith() + new Paragraph().costWith(line) : this.paragraph.costWith(line);
    const perChar = (this.depths + this.depthOf(line)) * kCost.line + (this.nStarts + (line.isRule || line.isFormula ? 1 : 0)) * kCost.start;
    return this.fixedCost + fixedCost(line) + paragraphs + (this.nChars + line.text.length) * perChar;
  }
}

function fixedCost(line: Line): number {
  return line.squaredRuns * kCost.run + (1 + line.nEmphases + line.nDelimiters) * kCost.node + line.nFormulas * kCost.formula;
}

export interface Split {
  sections: Section[];
  definitions: ReadonlyMap<string, string>; // lines that define links, by label
}

// Keeps the sections that are finished while a text grows, and reads only what comes after them.
export class Splitter {
  private text = '';
  private finished: Section[] = [];
  private state = { end: 0, tableHeader: '', definitions: new Map<string, string>() }; // behind the finished sections

  split(text: string): Split {
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    if (!text.startsWith(this.text)) {
      this.finished = [];
      this.state = { end: 0, tableHeader: '', definitions: new Map() };
    }
    this.text = text;
    const scan = new Scan(text, this.state.end, this.state.tableHeader, new Map(this.state.definitions));
    scan.run();
    for (const section of scan.sections.slice(0, scan.nFinished)) this.finished.push(section);
    this.state = scan.finishedState ?? this.state;
    return { sections: [...this.finished, ...scan.sections.slice(scan.nFinished)], definitions: scan.definitions };
  }
}

class Scan {
  readonly sections: Section[] = [];
  nFinished = 0;
  finishedState: { end: number; tableHeader: string; definitions: Map<string, string> } | undefined;
  private pieces: Piece[] = [];
  private nChars = 0; // of these
  private cost = 0;
  private draft: Draft | undefined;
  private blanks: number[] = []; // where blank lines after the draft begin

  constructor(private readonly text: string, private start: number, private tableHeader: string, readonly definitions: Map<string, string>) {}

  run(): void {
    for (let at = this.start; at < this.text.length; ) at = this.readLineAt(at);
    this.endPiece(this.text.length);
    this.endSection(this.text.length);
  }

  private lineEnd(at: number): number {
    const end = this.text.indexOf('\n', at);
    return end === -1 ? this.text.length : end;
  }

  // Gives where the next line begins.
  private readLineAt(at: number): number {
    const end = this.lineEnd(at);
    if (isBlank(this.text, at, end)) {
      if (this.draft) this.blanks.push(at);
      return end + 1;
    }
    const line = readLine(this.text.slice(at, end), at);
    if (line.fence && line.indent < 4 && !this.draft?.holdsFence(line)) {
      return this.readCode(line, end + 1);
    } else {
      this.readText(line);
    }
    return end + 1;
  }

  private readText(line: Line): void {
    this.define(line);
    if (this.draft && this.blanks.length > 0 && !this.draft.holdsAfterBlank(line)) this.endPiece(line.at);
    if (!this.draft) this.draft = new Draft(line, this.tableHeader);
    for (const at of this.blanks.splice(0)) this.draft.addBlank(at);
    this.tableHeader = '';
    const next = this.draft.add(line);
    if (!next) return;
    this.endPiece(next.start);
    this.draft = next;
  }

  // A block of code, up to its closing fence or the end of the text. marked need not see it.
  private readCode(opening: Line, begin: number): number {
    this.endPiece(opening.at);
    let end = begin;
    let isClosed = false;
    for (; end < this.text.length && !isClosed; end = this.lineEnd(end) + 1) isClosed = closes(this.text, end, this.lineEnd(end), opening);
    const codeEnd = isClosed ? this.text.lastIndexOf('\n', end - 2) : this.text.length;
    const code = this.text.slice(begin, Math.max(begin, codeEnd));
    const unindented = opening.indent > 0 ? code.replace(new RegExp(`^ {1,${opening.indent}}`, 'gm'), '') : code;
    this.push({ kind: 'code', text: unindented, language: opening.text.trim().slice(opening.fence.length).trim() }, opening.at, end, kCodeCost);
    return end;
  }

  private define({ text }: Line): void {
    if (text.length > kMaxHeaderChars || this.definitions.size >= kMaxDefinitions) return;
    const label = /^ {0,3}\[([^[\]\\]{1,200})\]:[ \t]*\S/.exec(text)?.[1]!.toLowerCase();
    if (label !== undefined && !this.definitions.has(label)) this.definitions.set(label, text);
  }

  private endPiece(end: number): void {
    if (this.draft) this.push(this.draft.piece(), this.draft.start, end, this.draft.totalCost, this.draft.goesOnWith);
    this.draft = undefined;
    this.blanks = [];
  }

  // A section is finished once a piece that is whole comes after it: the last line of a text can still become another.
  private push(piece: Piece, start: number, end: number, cost = 0, tableHeader = ''): void {
    const isTooMuch = this.nChars + piece.text.length > kMaxSectionChars || this.cost + cost > kMaxSectionCost;
    if (this.pieces.length === kMaxSectionPieces || (this.pieces.length > 0 && isTooMuch)) {
      this.endSection(start);
      if (end < this.text.length) {
        this.nFinished = this.sections.length;
        this.finishedState = { end: start, tableHeader, definitions: new Map(this.definitions) };
      }
    }
    this.pieces.push(piece);
    this.nChars += piece.text.length;
    this.cost += cost;
  }

  private endSection(end: number): void {
    if (this.pieces.length > 0) this.sections.push({ pieces: this.pieces, source: this.text.slice(this.start, end) });
    this.pieces = [];
    this.nChars = 0;
    this.cost = 0;
    this.start = end;
  }
}

function isBlank(text: string, begin: number, end: number): boolean {
  for (let at = begin; at < end; at += 1) if (text[at] !== ' ' && text[at] !== '\t') return false;
  return true;
}

function closes(text: string, begin: number, end: number, { fence }: Line): boolean {
  let at = begin;
  while (text[at] === ' ' && at < begin + 3) at += 1;
  if (!text.startsWith(fence, at) || end - at > 1_000) return false;
  return text.slice(at, end).trim().replaceAll(fence[0]!, '') === '';
}
