import { useState } from 'preact/hooks';
import type { ToolCall } from '../conversation.ts';
import { printable } from '../printable.ts';
import { useStore } from '../store.ts';
import { decide, toolOf } from '../tools.ts';
import { words } from '../words.ts';
import { Icon } from './Icon.tsx';

export function ToolCalls({ calls }: { calls: ToolCall[] }) {
  return <>{calls.map((call) => <Call key={call.id} call={call} />)}</>;
}

function Call({ call }: { call: ToolCall }) {
  useStore((state) => state.toolServers); // their names come after those of the calls
  const tool = toolOf(call);
  const label = printable(tool ? `${tool.server} › ${tool.name}` : call.name);
  return (
    <section class={`call ${call.state}`} aria-label={words.answers.callOf(label)}>
      <p>
        <strong>{label}</strong>
        <span class="state">{words.answers.callStates[call.state]}</span>
      </p>
      <pre tabIndex={0} aria-label={words.answers.callArguments}>{printable(pretty(call.arguments))}</pre>
      {call.state === 'asked' && <Question call={call} />}
      {call.result !== undefined && <Result text={call.result} />}
    </section>
  );
}

function Question({ call }: { call: ToolCall }) {
  return (
    <div class="buttons">
      <button type="button" class="primary" onClick={() => decide(call, 'once')}>{words.answers.allowOnce}</button>
      <button type="button" title={words.answers.untilClosed} onClick={() => decide(call, 'always')}>{words.answers.allowAlways}</button>
      <button type="button" onClick={() => decide(call, 'never')}>{words.answers.deny}</button>
    </div>
  );
}

function Result({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="reasoning" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {words.answers.resultOf(text.length)}
      </summary>
      {open && <pre tabIndex={0} aria-label={words.answers.result}>{printable(text)}</pre>}
    </details>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json || '{}'), null, 2);
  } catch {
    return json;
  }
}
