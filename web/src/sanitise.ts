// HTML from model output to Preact nodes. DOMPurify removes what could run or restyle; what is left is rebuilt node by
// node with the attributes named here, so nothing reaches the page by innerHTML and an unchanged part is not replaced.
import DOMPurify from 'dompurify';
import { h, type ComponentChild } from 'preact';
import { CodeBlock } from './components/CodeBlock.tsx';
import { Formula } from './components/Formula.tsx';
import { printable, printableProse } from './printable.ts';
import { words } from './words.ts';

const kTags = [
  'a', 'b', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'input', 'kbd', 'li', 'mark',
  'ol', 'p', 'pre', 's', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'u', 'ul',
];
const kShortChars = 28; // of a cell that is not broken into lines

const kAttributes = ['align', 'checked', 'class', 'href', 'start', 'type'];

export function sanitise(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: kTags,
    ALLOWED_ATTR: kAttributes,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    // These hold no address, so the pattern is not for them.
    ADD_URI_SAFE_ATTR: ['align', 'checked', 'start', 'type'],
    ALLOW_ARIA_ATTR: false,
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

// In code every character is told apart, since it is copied and run; prose keeps what its emoji and scripts need.
export function toNodes(parent: Node, inCode = false): ComponentChild[] {
  return Array.from(parent.childNodes, (node) => toNode(node, inCode));
}

function toNode(node: Node, inCode: boolean): ComponentChild {
  const text = node.textContent ?? '';
  if (!(node instanceof Element)) return inCode ? printable(text) : printableProse(text);
  const tag = node.localName;
  const children = toNodes(node, inCode || tag === 'pre' || tag === 'code');
  switch (tag) {
    case 'pre':
      return h(CodeBlock, { language: codeLanguage(node), text: text.replace(/\n$/, '') });
    case 'code':
      return code(node, children);
    case 'a':
      return link(node, children);
    case 'input':
      return checkbox(node.hasAttribute('checked'));
    case 'table':
      return h('div', { class: 'table', tabIndex: 0, role: 'group', 'aria-label': words.answers.table }, h('table', null, children));
    case 'ol':
      return h('ol', { start: Number(node.getAttribute('start') ?? 1) }, children);
    case 'td':
    case 'th':
      return h(tag, { class: `${alignment(node)} ${text.length > kShortChars ? 'long' : 'short'}` }, children);
    default:
      return kTags.includes(tag) ? h(tag, null, children) : children;
  }
}

function code(node: Element, children: ComponentChild[]): ComponentChild {
  const display = node.className === 'math display';
  return display || node.className === 'math' ? h(Formula, { tex: printableProse(node.textContent ?? ''), display }) : h('code', null, children);
}

function checkbox(checked: boolean): ComponentChild {
  return h('input', { type: 'checkbox', disabled: true, checked, 'aria-label': checked ? words.answers.done : words.answers.toDo });
}

function link(node: Element, children: ComponentChild[]): ComponentChild {
  const href = node.getAttribute('href') ?? '';
  if (!/^(?:https?|mailto):/i.test(href)) return h('span', null, children);
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer', title: printable(href) }, children);
}

function codeLanguage(pre: Element): string {
  return /^language-([\w+#.-]+)$/.exec(pre.firstElementChild?.className ?? '')?.[1] ?? '';
}

function alignment(cell: Element): string {
  const align = cell.getAttribute('align');
  return align === 'center' || align === 'right' ? `align-${align}` : '';
}
