import { printable } from '../printable.ts';
import { activeSettings, loadToolsOf, modelOf, setToolOn, useStore, type ToolServer } from '../store.ts';
import { words } from '../words.ts';
import { Failure } from './Failure.tsx';

// Which tools of MCP servers models are told of.
export function ToolSwitches() {
  const servers = useStore((state) => state.toolServers);
  const takesTools = useStore((state) => modelOf(state, activeSettings(state))?.takes_tools !== false);
  if (servers.length === 0) return null;
  return (
    <section aria-label={words.settings.tools}>
      <h3>{words.settings.tools}</h3>
      <p class="muted">{takesTools ? words.settings.toolsAsk : words.settings.noTools}</p>
      {servers.map((server) => <Server key={server.name} server={server} />)}
    </section>
  );
}

function Server({ server }: { server: ToolServer }) {
  const on = useStore((state) => state.toolsOn);
  return (
    <fieldset class="tools">
      <legend>{printable(server.name)}</legend>
      {server.error && <Failure error={server.error} actions={[{ label: words.common.retry, run: () => void loadToolsOf(server.name) }]} />}
      {server.tools.map(({ name, function: { name: id, description } }) => (
        <div key={id}>
          <label>
            <input type="checkbox" checked={on.includes(id)} aria-describedby={`about-${id}`} onChange={(event) => setToolOn(id, event.currentTarget.checked)} />
            {printable(name)}
          </label>
          <small id={`about-${id}`}>{printable(description)}</small>
        </div>
      ))}
      {server.notes.map((note) => <small key={note}>{printable(note)}</small>)}
    </fieldset>
  );
}
