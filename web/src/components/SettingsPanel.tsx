import { useEffect, useRef } from 'preact/hooks';
import type { Settings } from '../conversation.ts';
import { download } from '../download.ts';
import { activeSettings, getState, modelOf, notify, putConversation, setKey, setSettings, setState, useStore } from '../store.ts';
import { fromJson, toJson } from '../transfer.ts';
import { FileButton } from './FileButton.tsx';
import { IconButton } from './Icon.tsx';
import { kNumberFields, NumberField } from './NumberField.tsx';
import { ToolSwitches } from './ToolSwitches.tsx';
import { useTyped } from './typed.ts';

export function SettingsPanel() {
  const settings = useStore(activeSettings);
  const model = useStore((state) => modelOf(state, activeSettings(state)));
  const inChat = useStore((state) => state.conversations.some((each) => each.id === state.activeId));
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    panel.current!.focus();
    // What had the focus in the panel is gone by then; a focus that has moved on stays where it is.
    return () => void (document.activeElement === document.body && before?.focus());
  }, []);
  const set = (patch: Partial<Settings>) => setSettings({ ...activeSettings(getState()), ...patch });
  return (
    <aside class="settings" aria-label="Settings" ref={panel} tabIndex={-1}>
      <div class="bar">
        <h2>Settings</h2>
        <span class="spacer" />
        <IconButton icon="close" label="Close settings" onClick={() => setState({ open: null })} />
      </div>
      <p class="muted">{inChat ? 'For this chat and for new ones.' : 'For new chats.'} An empty field has the value that it shows in grey.</p>
      <SystemPrompt value={settings.system} set={(system) => set({ system })} />
      {model?.has_thinking_switch && <Thinking value={settings.thinking} set={(thinking) => set({ thinking })} />}
      {kNumberFields.map((field) => (
        <NumberField key={field.name} field={field} settings={settings} usual={model?.sampling?.[field.name]} />
      ))}
      <StopSequences value={settings.stop} set={(stop) => set({ stop })} />
      <button type="button" onClick={() => setSettings({ model: settings.model })}>
        Use the server's defaults
      </button>
      <ToolSwitches />
      <Chats />
      <ApiKey />
    </aside>
  );
}

function SystemPrompt({ value, set }: { value?: string; set: (value?: string) => void }) {
  const typed = useTyped(value ?? '');
  return (
    <label class="field wide">
      System prompt
      <textarea rows={4} placeholder="None" {...typed} onChange={(event) => set(event.currentTarget.value || undefined)} />
    </label>
  );
}

function Thinking({ value, set }: { value?: boolean; set: (value?: boolean) => void }) {
  const shown = value === undefined ? '' : String(value);
  return (
    <label class="field">
      Thinking
      <select value={shown} onChange={({ currentTarget }) => set(currentTarget.value === '' ? undefined : currentTarget.value === 'true')}>
        <option value="">As the model has it</option>
        <option value="true">On</option>
        <option value="false">Off</option>
      </select>
    </label>
  );
}

function StopSequences({ value, set }: { value?: string[]; set: (value?: string[]) => void }) {
  const read = (text: string) => {
    const lines = text.split('\n').filter((line) => line !== '');
    set(lines.length > 0 ? lines : undefined);
  };
  const typed = useTyped(value?.join('\n') ?? '');
  return (
    <label class="field wide">
      Stop sequences
      <textarea rows={2} {...typed} placeholder="None" aria-describedby="stop-help" onChange={(event) => read(event.currentTarget.value)} />
      <small id="stop-help">One a line. The answer ends before any of them.</small>
    </label>
  );
}

function Chats() {
  const exportAll = () => {
    const { conversations } = getState();
    if (conversations.length === 0) notify('There are no chats to export.');
    else download('realizar-chats.json', 'application/json', toJson(conversations));
  };
  return (
    <section aria-label="Chats in this browser">
      <h3>Chats in this browser</h3>
      <div class="buttons">
        <button type="button" onClick={exportAll}>Export all</button>
        <FileButton label="Import" class="" accept=".json,application/json" choose={([file]) => void importFile(file)}>
          Import
        </FileButton>
      </div>
    </section>
  );
}

function ApiKey() {
  const key = useStore((state) => state.key);
  return (
    <section aria-label="API key">
      <h3>API key</h3>
      <div class="buttons">
        <button type="button" onClick={() => setState({ askKey: 'asked' })}>{key ? 'Change key' : 'Set key'}</button>
        {key && <button type="button" onClick={() => setKey('')}>Forget key</button>}
      </div>
    </section>
  );
}

async function importFile(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    const conversations = fromJson(await file.text());
    conversations.forEach((each) => putConversation(each));
    notify(`Imported ${conversations.length} ${conversations.length === 1 ? 'chat' : 'chats'}.`);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error));
  }
}
