import { Component } from 'preact';
import { useMemo } from 'preact/hooks';
import { highlighter } from '../highlight.ts';
import { renderBlocks, settled } from '../markdown.ts';
import { sanitise, toNodes } from '../sanitise.ts';

export function Markdown({ text, streaming }: { text: string; streaming: boolean }) {
  const part = highlighter.use(/```|~~~/.test(text));
  const blocks = useMemo(() => renderBlocks(streaming ? settled(text) : text), [text, streaming, part]);
  return (
    <div class="markdown">
      {blocks.map((block, idx) => (
        <BlockView key={idx} html={block.html} />
      ))}
    </div>
  );
}

// A class for shouldComponentUpdate: a block that did not change is neither sanitised nor compared again.
class BlockView extends Component<{ html: string }> {
  override shouldComponentUpdate(next: { html: string }): boolean {
    return next.html !== this.props.html;
  }

  override render({ html }: { html: string }) {
    return toNodes(sanitise(html));
  }
}
