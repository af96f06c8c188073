import type { ComponentChildren } from 'preact';
import { CopyButton } from './CopyButton.tsx';

interface Props {
  language: string;
  text: string;
  children?: ComponentChildren;
}

export function CodeBlock({ language, text, children }: Props) {
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <CopyButton label="Copy code" text={text.replace(/\n$/, '')} />
      </figcaption>
      <pre tabIndex={0}>{children}</pre>
    </figure>
  );
}
