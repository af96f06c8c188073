// TeX as MathML. Temml's tree is rebuilt node by node, with the attributes and classes named here; what TeX could say of
// addresses or of the page's own classes is not among them.
import { h, type ComponentChild } from 'preact';
import { useMemo } from 'preact/hooks';
import { Part } from '../part.ts';
import { words } from '../words.ts';

interface Piece {
  type?: string;
  text?: string;
  attributes?: Record<string, unknown>;
  classes?: string[];
  style?: Record<string, unknown>;
  children?: Piece[];
}

const kMaxChars = 10_000;
const kMaxSize: [number, number] = [40, 400]; // of spaces and rules: in em, in pt
const kLongChars = 40; // a formula in a line that may be wider than a phone

const kElements = new Set([
  'math', 'menclose', 'mfrac', 'mglyph', 'mi', 'mmultiscripts', 'mn', 'mo', 'mover', 'mpadded', 'mphantom', 'mprescripts', 'mroot',
  'mrow', 'mspace', 'msqrt', 'mstyle', 'msub', 'msubsup', 'msup', 'mtable', 'mtd', 'mtext', 'mtr', 'munder', 'munderover', 'none',
]);
const kAttributes = new Set([
  'accent', 'columnalign', 'depth', 'display', 'displaystyle', 'fence', 'form', 'height', 'largeop', 'linethickness', 'lspace',
  'mathbackground', 'mathcolor', 'mathsize', 'mathvariant', 'maxsize', 'minsize', 'movablelimits', 'notation', 'rowspacing', 'rspace',
  'scriptlevel', 'separator', 'stretchy', 'symmetric', 'voffset', 'width',
]);
const kClass = /^(?:tml-|chr-|wbk-|ff-)[\w-]+$|^(?:menclose|upstrike|downstrike|sout)$/;

const temml = new Part(() => import('../parts/temml.ts'));

export function Formula({ tex, display }: { tex: string; display: boolean }) {
  const library = temml.use(true);
  const drawn = useMemo(() => library && draw(library.treeOf, tex, display), [library, tex, display]);
  if (!drawn) return <code>{tex}</code>;
  const isScrollable = display || tex.length > kLongChars;
  if (!isScrollable) return drawn;
  return (
    <span class={`formula ${display ? 'display' : ''}`} tabIndex={0} role="group" aria-label={words.answers.formula}>
      {drawn}
    </span>
  );
}

// undefined where the text is not TeX that Temml knows.
function draw(treeOf: (tex: string, options: object) => object, tex: string, displayMode: boolean): ComponentChild {
  if (tex.length > kMaxChars) return undefined;
  try {
    return toNode(treeOf(tex, { displayMode, throwOnError: true, maxSize: kMaxSize }));
  } catch {
    return undefined;
  }
}

function toNode({ type, text, attributes = {}, classes = [], style = {}, children = [] }: Piece): ComponentChild {
  if (text !== undefined) return text;
  const inside = children.map(toNode);
  if (!type || !kElements.has(type)) return inside;
  const kept = Object.entries(attributes).filter(([name]) => kAttributes.has(name));
  const styles = Object.entries(style).map(([name, value]) => [name, String(value)]);
  return h(type, {
    ...Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
    class: classes.filter((name) => kClass.test(name)).join(' ') || undefined,
    style: styles.length > 0 ? Object.fromEntries(styles) : undefined,
  }, inside);
}
