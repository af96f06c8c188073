import { useId, useState } from 'preact/hooks';
import { samplerNames } from '../answer_form.ts';
import { objectIn } from '../api.ts';
import { kSamplers, type Settings } from '../conversation.ts';
import { words } from '../words.ts';
import { useTyped } from './typed.ts';

interface Props {
  settings: Settings;
  set: (patch: Partial<Settings>) => void;
}

// The form of answers: free text, JSON, a document of a schema, a text of a grammar.
export function AnswerForm({ settings, set }: Props) {
  const { form, schema, grammar } = settings;
  return (
    <>
      <label class="field">
        {words.settings.form}
        <select value={form ?? ''} onChange={({ currentTarget }) => set({ form: (currentTarget.value || undefined) as Settings['form'] })}>
          {Object.entries(words.settings.forms).map(([value, label]) => (
            <option key={value} value={value}>{label}</option>
          ))}
        </select>
      </label>
      {form === 'schema' && (
        <CheckedText label={words.settings.schema} value={schema} problemOf={(text) => (objectIn(text) ? '' : words.settings.schemaWrong)} set={(text) => set({ schema: text })} />
      )}
      {form === 'grammar' && <CheckedText label={words.settings.grammar} value={grammar} problemOf={() => ''} set={(text) => set({ grammar: text })} />}
    </>
  );
}

export function SamplerOrder({ settings, set }: Props) {
  const problemOf = (text: string) => {
    const wrong = samplerNames(text).find((name) => !kSamplers.includes(name));
    return wrong === undefined ? '' : words.settings.samplersWrong(wrong);
  };
  return (
    <CheckedText
      label={words.settings.samplers}
      value={settings.samplers?.join(', ')}
      placeholder={words.common.default}
      help={words.settings.samplersHelp(kSamplers.join(', '))}
      problemOf={problemOf}
      set={(text) => set({ samplers: text === undefined ? undefined : samplerNames(text) })}
    />
  );
}

interface TextProps {
  label: string;
  value?: string;
  placeholder?: string;
  help?: string;
  problemOf: (text: string) => string;
  set: (text?: string) => void;
}

// A wrong text stays on show with its reason, and the one before it is used.
function CheckedText({ label, value, placeholder, help, problemOf, set }: TextProps) {
  const id = useId();
  const typed = useTyped(value ?? '');
  const [problem, setProblem] = useState('');
  const change = ({ currentTarget }: { currentTarget: HTMLTextAreaElement }) => {
    const text = currentTarget.value.trim();
    const found = text === '' ? '' : problemOf(text);
    setProblem(found);
    if (!found) set(text || undefined);
  };
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <textarea id={id} rows={3} class="code-field" spellcheck={false} placeholder={placeholder ?? words.common.none} aria-describedby={`${id}-help`} aria-invalid={problem !== ''} {...typed} onChange={change} />
      <small id={`${id}-help`}>
        {help} {problem && <strong class="problem" role="alert">{problem} {words.settings.kept}</strong>}
      </small>
    </div>
  );
}
