import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../clipboard.ts';
import { notify } from '../store.ts';
import { IconButton } from './Icon.tsx';

const kShownMs = 1_500;

export function CopyButton({ label, text }: { label: string; text: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), kShownMs);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    if (await copyText(text)) setCopied(true);
    else notify('This browser did not allow copying.');
  };
  return <IconButton icon={copied ? 'check' : 'copy'} label={copied ? 'Copied' : label} class="copy" onClick={copy} />;
}
