import { printable } from '../printable.ts';
import { activeSettings, loadToolsOf, modelOf, setToolOn, useStore, type ToolServer } from '../store.ts';
import { Failure } from './Failure.tsx';

// Which tools of MCP servers models are told of.
export function ToolSwitches() {
  const servers = useStore((state) => state.toolServers);
  const takesTools = useStore((state) => modelOf(state, activeSettings(state))?.takes_tools !== false);
  if (servers.length === 0) return null;
  return (
    <section aria-label="Tools">
      <h3>Tools</h3>
      <p class="muted">
        {takesTools
          ? 'The model may ask for those that are on. You are asked before any of them runs.'
          : "This model's chat template tells it of no tools, so it calls none."}
      </p>
      {servers.map((server) => <Server key={server.name} server={server} />)}
    </section>
  );
}

function Server({ server }: { server: ToolServer }) {
  const on = useStore((state) => state.toolsOn);
  return (
    <fieldset class="tools">
      <legend>{printable(server.name)}</legend>
      {server.error && <Failure error={server.error} actions={[{ label: 'Retry', run: () => void loadToolsOf(server.name) }]} />}
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
