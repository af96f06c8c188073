import { Component } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { displayHtml, htmlOf, languageOf, settled } from '../markdown.ts';
import { useNear } from '../near.ts';
import { Splitter, type Piece, type Section } from '../pieces.ts';
import { printableProse } from '../printable.ts';
import { sanitise, toNodes } from '../sanitise.ts';
import { CodeBlock } from './CodeBlock.tsx';
import { Plain } from './Plain.tsx';

const kSliceChars = 60_000; // that are split in one task
const kSlicePauseMs = 16;
const kSectionsAtOnce = 3; // at the end, where a chat is opened and an answer grows

type Definitions = ReadonlyMap<string, string>;

export function Markdown({ text, streaming }: { text: string; streaming: boolean }) {
  const splitter = useRef<Splitter | null>(null);
  splitter.current ??= new Splitter();
  const limit = useLimit(text.length);
  const { sections, definitions } = useMemo(() => splitter.current!.split(text.slice(0, limit)), [text, limit]);
  const shown = streaming ? settledSections(sections) : sections;
  const isLong = shown.length > kSectionsAtOnce;
  return (
    <div class="markdown">
      {shown.map((section, idx) => (
        <SectionView key={idx} section={section} definitions={definitions} isLong={isLong} atOnce={idx >= shown.length - kSectionsAtOnce} />
      ))}
    </div>
  );
}

// How much of a long text is split by now.
function useLimit(nChars: number): number {
  const [limit, setLimit] = useState(kSliceChars);
  const isShort = limit < nChars;
  useEffect(() => {
    if (!isShort) return;
    const timer = setTimeout(() => setLimit(limit + kSliceChars), kSlicePauseMs);
    return () => clearTimeout(timer);
  }, [isShort, limit]);
  return limit;
}

function settledSections(sections: Section[]): Section[] {
  const last = sections.at(-1);
  const piece = last?.pieces.at(-1);
  if (piece?.kind !== 'markdown') return sections;
  const text = settled(piece.text);
  if (text === piece.text) return sections;
  const pieces = [...last!.pieces.slice(0, -1), ...(text.trim() ? [{ ...piece, text }] : [])];
  return [...sections.slice(0, -1), { ...last!, pieces }];
}

interface SectionProps {
  section: Section;
  definitions: Definitions;
  isLong: boolean;
  atOnce: boolean;
}

// A finished section stays the same object while its answer grows, and is not rendered again.
class SectionView extends Component<SectionProps> {
  override shouldComponentUpdate({ section, definitions, isLong }: SectionProps): boolean {
    const old = this.props;
    if (section !== old.section || isLong !== old.isLong) return true;
    return definitions.size !== old.definitions.size && section.source.includes('[');
  }

  override render(props: SectionProps) {
    return <SectionContent {...props} />;
  }
}

function SectionContent({ section: { pieces, source }, definitions, isLong, atOnce }: SectionProps) {
  const { ref, near } = useNear<HTMLDivElement>(atOnce);
  const style = isLong ? { containIntrinsicHeight: `auto ${expectedPx(pieces)}px` } : undefined;
  return (
    <div ref={ref} class={`section ${isLong ? 'apart' : ''} ${near ? '' : 'far'}`} style={style}>
      {near ? pieces.map((piece, idx) => <PieceView key={idx} piece={piece} definitions={definitions} />) : printableProse(source)}
    </div>
  );
}

const kLinePx = 26;
const kLineChars = 90;
const kMarginPx = 14;

// The height of what is not rendered yet, about.
function expectedPx(pieces: Piece[]): number {
  const lines = pieces.reduce((sum, { text }) => sum + Math.max(text.length / kLineChars, text.split('\n').length), 0);
  return Math.ceil(lines * kLinePx + pieces.length * kMarginPx);
}

function PieceView({ piece, definitions }: { piece: Piece; definitions: Definitions }) {
  if (piece.kind === 'plain') return <Plain text={piece.text} />;
  if (piece.kind === 'code') {
    const language = languageOf(piece.language);
    return language === 'math' ? <Html html={displayHtml(piece.text)} /> : <CodeBlock language={language} text={piece.text} />;
  }
  const html = htmlOf(piece, definitions);
  return html === undefined ? <Plain text={piece.text} /> : <Html html={html} />;
}

// A class for shouldComponentUpdate: what did not change is neither sanitised nor compared again.
class Html extends Component<{ html: string }> {
  override shouldComponentUpdate(next: { html: string }): boolean {
    return next.html !== this.props.html;
  }

  override render({ html }: { html: string }) {
    return toNodes(sanitise(html));
  }
}
