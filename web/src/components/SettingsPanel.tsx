import { useEffect, useRef } from 'preact/hooks';
import { kEfforts, type Settings } from '../conversation.ts';
import { download } from '../download.ts';
import { activeSettings, getState, modelOf, notify, putConversation, setKey, setSettings, setState, setTitlesByModel, useStore } from '../store.ts';
import { fromJson, toJson, withoutKnown } from '../transfer.ts';
import { chooseLanguage, chosenLanguage, kLanguageNames, words } from '../words.ts';
import { AnswerForm, SamplerOrder } from './AnswerForm.tsx';
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
    // The panel's own focus is gone by then; a focus that has moved on stays where it is.
    return () => void (document.activeElement === document.body && before?.focus());
  }, []);
  const set = (patch: Partial<Settings>) => setSettings({ ...activeSettings(getState()), ...patch });
  return (
    <aside class="settings" aria-label={words.settings.title} ref={panel} tabIndex={-1}>
      <div class="bar">
        <h2>{words.settings.title}</h2>
        <span class="spacer" />
        <IconButton icon="close" label={words.settings.close} onClick={() => setState({ open: null })} />
      </div>
      <p class="muted">{inChat ? words.settings.forChat : words.settings.forNew} {words.settings.grey}</p>
      <SystemPrompt value={settings.system} set={(system) => set({ system })} />
      {model?.has_thinking_switch && <Thinking value={settings.thinking} set={(thinking) => set({ thinking })} />}
      {(model?.marks_reasoning ?? model?.has_thinking_switch) && <Effort value={settings.effort} set={(effort) => set({ effort })} />}
      {kNumberFields.map((field) => (
        <NumberField key={field.name} field={field} settings={settings} usual={model?.sampling?.[field.name]} />
      ))}
      <StopSequences value={settings.stop} set={(stop) => set({ stop })} />
      <AnswerForm settings={settings} set={set} />
      <SamplerOrder settings={settings} set={set} />
      <button type="button" onClick={() => setSettings({ model: settings.model })}>
        {words.settings.defaults}
      </button>
      <ToolSwitches />
      <Chats />
      <Language />
      <ApiKey />
    </aside>
  );
}

function SystemPrompt({ value, set }: { value?: string; set: (value?: string) => void }) {
  const typed = useTyped(value ?? '');
  return (
    <label class="field wide">
      {words.settings.systemPrompt}
      <textarea rows={4} placeholder={words.common.none} {...typed} onChange={(event) => set(event.currentTarget.value || undefined)} />
    </label>
  );
}

function Thinking({ value, set }: { value?: boolean; set: (value?: boolean) => void }) {
  const shown = value === undefined ? '' : String(value);
  return (
    <label class="field">
      {words.settings.thinking}
      <select value={shown} onChange={({ currentTarget }) => set(currentTarget.value === '' ? undefined : currentTarget.value === 'true')}>
        <option value="">{words.settings.asModel}</option>
        <option value="true">{words.settings.on}</option>
        <option value="false">{words.settings.off}</option>
      </select>
    </label>
  );
}

function Effort({ value, set }: { value?: Settings['effort']; set: (value?: Settings['effort']) => void }) {
  return (
    <div class="field">
      <label for="set-effort">{words.settings.effort}</label>
      <select id="set-effort" aria-describedby="help-effort" value={value ?? ''} onChange={({ currentTarget }) => set((currentTarget.value || undefined) as Settings['effort'])}>
        <option value="">{words.settings.asModel}</option>
        {kEfforts.map((effort) => <option key={effort} value={effort}>{words.settings.efforts[effort]}</option>)}
      </select>
      <small id="help-effort">{words.settings.effortHelp}</small>
    </div>
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
      {words.settings.stop}
      <textarea rows={2} {...typed} placeholder={words.common.none} aria-describedby="stop-help" onChange={(event) => read(event.currentTarget.value)} />
      <small id="stop-help">{words.settings.stopHelp}</small>
    </label>
  );
}

function Chats() {
  const byModel = useStore((state) => state.titlesByModel);
  const exportAll = () => {
    const { conversations } = getState();
    if (conversations.length === 0) notify(words.settings.nothingToExport);
    else download('realizar-chats.json', 'application/json', toJson(conversations));
  };
  return (
    <section aria-label={words.settings.chats}>
      <h3>{words.settings.chats}</h3>
      <div class="buttons">
        <button type="button" onClick={exportAll}>{words.settings.exportAll}</button>
        <FileButton label={words.settings.import} class="" accept=".json,application/json" choose={([file]) => void importFile(file)}>
          {words.settings.import}
        </FileButton>
      </div>
      <label class="check">
        <input type="checkbox" checked={byModel} onChange={(event) => setTitlesByModel(event.currentTarget.checked)} />
        {words.settings.titles}
      </label>
    </section>
  );
}

function Language() {
  return (
    <label class="field">
      {words.settings.language}
      <select value={chosenLanguage()} onChange={({ currentTarget }) => chooseLanguage(currentTarget.value)}>
        <option value="">{words.settings.asBrowser}</option>
        {Object.entries(kLanguageNames).map(([language, name]) => <option key={language} value={language} lang={language}>{name}</option>)}
      </select>
    </label>
  );
}

function ApiKey() {
  const key = useStore((state) => state.key);
  return (
    <section aria-label={words.settings.key}>
      <h3>{words.settings.key}</h3>
      <div class="buttons">
        <button type="button" onClick={() => setState({ askKey: 'asked' })}>{key ? words.settings.changeKey : words.settings.setKey}</button>
        {key && <button type="button" onClick={() => setKey('')}>{words.settings.forgetKey}</button>}
      </div>
    </section>
  );
}

async function importFile(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    const all = fromJson(await file.text());
    const added = withoutKnown(all, getState().conversations);
    added.forEach((each) => putConversation(each));
    notify(words.settings.imported(added.length, all.length - added.length));
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error));
  }
}
