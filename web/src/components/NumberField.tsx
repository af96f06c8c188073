import type { Settings } from '../conversation.ts';
import { activeSettings, getState, setSettings } from '../store.ts';
import { useTyped } from './typed.ts';

interface Field {
  name: Exclude<keyof Settings, 'model' | 'system' | 'stop' | 'thinking'>;
  label: string;
  help: string;
  usual?: string; // what an empty field means, where no number of the server says it
  min?: number;
  max?: number;
  step: number;
}

export const kNumberFields: Field[] = [
  { name: 'temperature', label: 'Temperature', help: '0 always takes the likeliest token; higher is more varied.', min: 0, max: 2, step: 0.05 },
  { name: 'top_p', label: 'Top p', help: 'Draws from the likeliest tokens that together reach this share.', min: 0, max: 1, step: 0.01 },
  { name: 'top_k', label: 'Top k', help: 'Draws from this many of the likeliest tokens; 0: from all.', min: 0, step: 1 },
  { name: 'min_p', label: 'Min p', help: 'Drops tokens less likely than this share of the likeliest.', min: 0, max: 1, step: 0.01 },
  { name: 'repetition_penalty', label: 'Repetition penalty', help: 'Above 1 makes tokens that were used less likely.', min: 0, max: 2, step: 0.05 },
  { name: 'frequency_penalty', label: 'Frequency penalty', help: 'Grows with each use of a token.', min: -2, max: 2, step: 0.05 },
  { name: 'presence_penalty', label: 'Presence penalty', help: 'Counts once a token was used at all.', min: -2, max: 2, step: 0.05 },
  { name: 'seed', label: 'Seed', help: 'The same seed gives the same answer.', usual: 'random', min: 0, step: 1 },
  { name: 'max_tokens', label: 'Max tokens', help: 'The longest answer, thinking included.', usual: 'no limit', min: 1, step: 1 },
];

// `usual`: what the server takes where the field is empty.
export function NumberField({ field, settings, usual }: { field: Field; settings: Settings; usual?: number }) {
  const { name, label, help, usual: word, ...limits } = field;
  const typed = useTyped(String(settings[name] ?? ''));
  const change = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    if (!input.reportValidity()) return;
    setSettings({ ...activeSettings(getState()), [name]: input.value === '' ? undefined : input.valueAsNumber });
  };
  const placeholder = usual === undefined ? (word ?? 'default') : String(usual);
  return (
    <div class="field">
      <label for={`set-${name}`}>{label}</label>
      <input id={`set-${name}`} type="number" inputMode="decimal" placeholder={placeholder} aria-describedby={`help-${name}`} {...limits} step={limits.step < 1 ? 'any' : 1} {...typed} onChange={change} />
      <small id={`help-${name}`}>{help}</small>
    </div>
  );
}
