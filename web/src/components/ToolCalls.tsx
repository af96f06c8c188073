import type { ToolCall } from '../conversation.ts';
import { count } from '../format.ts';
import { printable } from '../printable.ts';
import { useStore } from '../store.ts';
import { decide, toolOf } from '../tools.ts';
import { Icon } from './Icon.tsx';

const kStates: Record<ToolCall['state'], string> = {
  asked: 'Waits for you',
  running: 'Running',
  done: 'Done',
  failed: 'Failed',
  denied: 'Not allowed',
  cancelled: 'Cancelled',
};

export function ToolCalls({ calls }: { calls: ToolCall[] }) {
  return <>{calls.map((call) => <Call key={call.id} call={call} />)}</>;
}

function Call({ call }: { call: ToolCall }) {
  useStore((state) => state.toolServers); // their names come after those of the calls
  const tool = toolOf(call);
  const label = printable(tool ? `${tool.name} of ${tool.server}` : call.name);
  return (
    <section class={`call ${call.state}`} aria-label={`Call of ${label}`}>
      <p>
        <strong>{label}</strong>
        <span class="state">{kStates[call.state]}</span>
      </p>
      <pre tabIndex={0} aria-label="Arguments">{printable(pretty(call.arguments))}</pre>
      {call.state === 'asked' && <Question call={call} />}
      {call.result !== undefined && <Result text={call.result} />}
    </section>
  );
}

function Question({ call }: { call: ToolCall }) {
  return (
    <div class="buttons">
      <button type="button" class="primary" onClick={() => decide(call, 'once')}>Allow once</button>
      <button type="button" title="Until this page closes" onClick={() => decide(call, 'always')}>Always allow this tool</button>
      <button type="button" onClick={() => decide(call, 'never')}>Deny</button>
    </div>
  );
}

function Result({ text }: { text: string }) {
  return (
    <details class="reasoning">
      <summary>
        <Icon name="right" />
        Result, {count(text.length)} {text.length === 1 ? 'character' : 'characters'}
      </summary>
      <pre tabIndex={0} aria-label="Result">{printable(text)}</pre>
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
