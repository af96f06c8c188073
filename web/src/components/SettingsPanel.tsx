import type { Settings } from '../conversation.ts';
import { download } from '../download.ts';
import { activeSettings, getState, notify, putConversation, setKey, setSettings, setState, useStore } from '../store.ts';
import { fromJson, toJson } from '../transfer.ts';
import { IconButton } from './Icon.tsx';

interface Field {
  name: Exclude<keyof Settings, 'model' | 'system'>;
  label: string;
  help: string;
  min?: number;
  max?: number;
  step: number;
}

const kFields: Field[] = [
  { name: 'temperature', label: 'Temperature', help: '0 always takes the likeliest token; higher is more varied', min: 0, max: 2, step: 0.05 },
  { name: 'top_p', label: 'Top p', help: 'Draws from the likeliest tokens that together reach this share', min: 0, max: 1, step: 0.01 },
  { name: 'top_k', label: 'Top k', help: 'Draws from this many of the likeliest tokens', min: 0, step: 1 },
  { name: 'min_p', label: 'Min p', help: 'Drops tokens less likely than this share of the likeliest', min: 0, max: 1, step: 0.01 },
  { name: 'repetition_penalty', label: 'Repetition penalty', help: 'Above 1 makes tokens that were used less likely', min: 0, max: 2, step: 0.05 },
  { name: 'frequency_penalty', label: 'Frequency penalty', help: 'Grows with each use of a token', min: -2, max: 2, step: 0.05 },
  { name: 'presence_penalty', label: 'Presence penalty', help: 'Counts once a token was used at all', min: -2, max: 2, step: 0.05 },
  { name: 'seed', label: 'Seed', help: 'The same seed gives the same answer', min: 0, step: 1 },
  { name: 'max_tokens', label: 'Longest answer', help: 'In tokens, reasoning included', min: 1, step: 1 },
];

export function SettingsPanel() {
  const settings = useStore(activeSettings);
  const inChat = useStore((state) => state.conversations.some((each) => each.id === state.activeId));
  const key = useStore((state) => state.key);
  return (
    <aside class="settings" aria-label="Settings">
      <div class="bar">
        <h2>Settings</h2>
        <span class="spacer" />
        <IconButton icon="close" label="Close settings" onClick={() => setState({ open: null })} />
      </div>
      <p class="muted">{inChat ? 'For this chat and for new ones.' : 'For new chats.'} Empty means the server's default.</p>
      <label class="field wide">
        System prompt
        <textarea rows={4} value={settings.system ?? ''} placeholder="None" onChange={(event) => setSettings({ ...settings, system: event.currentTarget.value || undefined })} />
      </label>
      {kFields.map((field) => (
        <NumberField key={field.name} field={field} settings={settings} />
      ))}
      <button type="button" onClick={() => setSettings({ model: settings.model })}>
        Use the server's defaults
      </button>
      <h3>Chats in this browser</h3>
      <div class="buttons">
        <button type="button" onClick={exportAll}>Export all</button>
        <label class="button" tabIndex={0} onKeyDown={pressLabel}>
          Import
          <input type="file" accept=".json,application/json" class="visually-hidden" tabIndex={-1} onChange={(event) => void importFile(event.currentTarget)} />
        </label>
      </div>
      <h3>API key</h3>
      <div class="buttons">
        <button type="button" onClick={() => setState({ askKey: true })}>{key ? 'Change key' : 'Set key'}</button>
        {key && <button type="button" onClick={() => setKey('')}>Forget key</button>}
      </div>
    </aside>
  );
}

function NumberField({ field, settings }: { field: Field; settings: Settings }) {
  const { name, label, help, ...limits } = field;
  const change = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    if (!input.reportValidity()) return;
    setSettings({ ...settings, [name]: input.value === '' ? undefined : input.valueAsNumber });
  };
  return (
    <label class="field" title={help}>
      {label}
      <input type="number" inputMode="decimal" placeholder="default" {...limits} step={limits.step < 1 ? 'any' : 1} value={settings[name] ?? ''} onChange={change} />
    </label>
  );
}

function pressLabel(event: KeyboardEvent): void {
  if (event.key === 'Enter' || event.key === ' ') (event.currentTarget as HTMLLabelElement).click();
}

function exportAll(): void {
  const { conversations } = getState();
  if (conversations.length === 0) notify('There are no chats to export.');
  else download('realizar-chats.json', 'application/json', toJson(conversations));
}

async function importFile(input: HTMLInputElement): Promise<void> {
  const file = input.files?.[0];
  input.value = '';
  if (!file) return;
  try {
    const conversations = fromJson(await file.text());
    conversations.forEach((each) => putConversation(each));
    notify(`Imported ${conversations.length} ${conversations.length === 1 ? 'chat' : 'chats'}.`);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error));
  }
}
