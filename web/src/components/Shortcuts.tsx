import { useEffect, useRef } from 'preact/hooks';
import { setState } from '../store.ts';
import { words } from '../words.ts';

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const { ctrl, enter, shift, escape, up } = words.keys;
  const all: [keys: string[], what: string][] = [
    [[enter], words.keys.send],
    [[shift, enter], words.keys.line],
    [[up], words.keys.recall],
    [[escape], words.keys.stop],
    [[ctrl, 'K'], words.keys.newChat],
    [['?'], words.keys.list],
  ];
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts-title" onClose={() => setState({ open: null })}>
      <h2 id="shortcuts-title">{words.keys.title}</h2>
      <dl class="shortcuts">
        {all.map(([keys, what]) => (
          <div key={what}>
            <dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => dialog.current!.close()}>{words.common.close}</button>
      </div>
    </dialog>
  );
}
