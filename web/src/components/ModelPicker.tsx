import type { Model } from '../api.ts';
import { bytes, count, short } from '../format.ts';
import { activeSettings, getState, loadModels, modelOf, setSettings, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Icon } from './Icon.tsx';
import { Menu } from './Menu.tsx';

export function ModelPicker() {
  const models = useStore((state) => state.models);
  const model = useStore((state) => modelOf(state, activeSettings(state)));
  if (!model) return null;
  const detail = describe(model);
  if (models.length === 1) {
    return (
      <div class="model">
        <strong>{model.id}</strong>
        {detail && <small>{detail}</small>}
      </div>
    );
  }
  const items = models.map((each) => ({
    label: each.id,
    detail: describe(each),
    checked: each.id === model.id,
    run: () => choose(each.id),
  }));
  return (
    <Menu label={words.header.chooseModel} class="model" items={items}>
      <span>
        <strong>{model.id}</strong>
        {detail && <small>{detail}</small>}
      </span>
      <Icon name="expand" />
    </Menu>
  );
}

function choose(id: string): void {
  setSettings({ ...activeSettings(getState()), model: id });
  void loadModels(); // its state may have changed since
}

// "1.2B parameters, 1.3 GB, context 8,192": what tells models apart and is known before one is loaded.
function describe({ n_params, weight_bytes, context_length, state }: Model): string {
  const parts = [
    n_params ? words.header.parameters(short(n_params)) : '',
    weight_bytes ? bytes(weight_bytes) : '',
    context_length ? words.header.context(count(context_length)) : '',
    state && state !== 'ready' ? words.header.states[state] ?? state : '',
  ];
  return parts.filter(Boolean).join(', ');
}
