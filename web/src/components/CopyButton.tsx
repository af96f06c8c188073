import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../clipboard.ts';
import { notify } from '../store.ts';
import { words } from '../words.ts';
import { IconButton } from './Icon.tsx';

const kShownMs = 1_500;

export function CopyButton({ label, text }: { label: string; text: string | (() => string) }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), kShownMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    if (await copyText(typeof text === 'string' ? text : text())) setCopied(true);
    else notify(words.answers.copyRefused);
  };
  return <IconButton icon={copied ? 'check' : 'copy'} label={copied ? words.answers.copied : label} class="copy" onClick={copy} />;
}
