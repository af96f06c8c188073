import type { Failure as Kind } from '../api.ts';
import { printable } from '../printable.ts';
import { setState } from '../store.ts';
import { words } from '../words.ts';

interface Props {
  error: string;
  kind?: Kind;
  disabled?: boolean;
  actions: { label: string; run: () => void }[];
}

// An error, with what can be done about it.
export function Failure({ error, kind, disabled, actions }: Props) {
  const all = kind === 'unauthorized' ? [{ label: words.key.enter, run: () => setState({ askKey: 'asked' }) }, ...actions] : actions;
  return (
    <div class="failure" role="alert">
      <p>{printable(error)}</p>
      {all.map(({ label, run }) => (
        <button key={label} type="button" onClick={run} disabled={disabled}>
          {label}
        </button>
      ))}
    </div>
  );
}
