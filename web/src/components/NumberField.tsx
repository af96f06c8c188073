import { useState } from 'preact/hooks';
import type { Settings } from '../conversation.ts';
import { activeSettings, getState, setSettings } from '../store.ts';
import { words } from '../words.ts';
import { useTyped } from './typed.ts';

interface Field {
  name: Exclude<keyof Settings, 'model' | 'system' | 'stop' | 'thinking' | 'effort' | 'form' | 'schema' | 'grammar' | 'samplers'>;
  usual?: () => string; // what an empty field means, where no number of the server says it
  above?: number; // the value has to be larger
  min?: number;
  max?: number;
  whole?: boolean;
  step: number;
}

export const kNumberFields: Field[] = [
  { name: 'temperature', min: 0, max: 2, step: 0.05 },
  { name: 'top_p', min: 0, max: 1, step: 0.01 },
  { name: 'top_k', min: 0, whole: true, step: 1 },
  { name: 'min_p', min: 0, max: 1, step: 0.01 },
  { name: 'repetition_penalty', above: 0, max: 2, step: 0.05 },
  { name: 'frequency_penalty', min: -2, max: 2, step: 0.05 },
  { name: 'presence_penalty', min: -2, max: 2, step: 0.05 },
  { name: 'seed', usual: () => words.settings.random, min: 0, whole: true, step: 1 },
  { name: 'max_tokens', usual: () => words.settings.noLimit, min: 1, whole: true, step: 1 },
];

// The fault of a field's content; '' if there is none.
function problemOf({ above, min, max, whole }: Field, input: HTMLInputElement): string {
  const value = input.valueAsNumber;
  if (input.validity.badInput) return words.settings.notNumber;
  if (Number.isNaN(value)) return ''; // an empty field
  const limit = max === undefined ? '' : String(max);
  if (above !== undefined && (value <= above || value > max!)) return words.settings.above(String(above), limit);
  if ((min !== undefined && value < min) || (max !== undefined && value > max)) return words.settings.outside(String(min), limit);
  return whole && !Number.isInteger(value) ? words.settings.notWhole : '';
}

// `usual`: what the server takes where the field is empty. A wrong value stays on show with its reason, and the one
// before it is used.
export function NumberField({ field, settings, usual }: { field: Field; settings: Settings; usual?: number }) {
  const { name, usual: word, min, max, step } = field;
  const typed = useTyped(String(settings[name] ?? ''));
  const [problem, setProblem] = useState('');
  const [label, help] = words.settings.fields[name]!;
  const input = (event: { currentTarget: HTMLInputElement }) => {
    typed.onInput(event);
    if (problem) setProblem(problemOf(field, event.currentTarget)); // right at once where it was wrong
  };
  const change = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const found = problemOf(field, currentTarget);
    setProblem(found);
    if (found) return;
    setSettings({ ...activeSettings(getState()), [name]: currentTarget.value === '' ? undefined : currentTarget.valueAsNumber });
  };
  const placeholder = usual === undefined ? (word?.() ?? words.common.default) : String(usual);
  return (
    <div class="field">
      <label for={`set-${name}`}>{label}</label>
      <input id={`set-${name}`} type="number" inputMode="decimal" placeholder={placeholder} aria-describedby={`help-${name}`} aria-invalid={problem !== ''} min={min} max={max} step={step < 1 ? 'any' : 1} value={typed.value} onInput={input} onChange={change} />
      <small id={`help-${name}`}>
        {help} {problem && <strong class="problem" role="alert">{problem} {words.settings.kept}</strong>}
      </small>
    </div>
  );
}
