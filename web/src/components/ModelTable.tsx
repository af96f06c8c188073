import { bytes, count, short } from '../format.ts';
import { useStore } from '../store.ts';
import { words } from '../words.ts';

// The server's models and what they take.
export function ModelTable() {
  const models = useStore((state) => state.models);
  if (models.length === 0) return null;
  const orDash = (value: number | undefined, format: (value: number) => string) => (value === undefined ? '–' : format(value));
  return (
    <div class="models" tabIndex={0} role="region" aria-label={words.metrics.models}>
      <table>
        <thead>
          <tr>
            {words.metrics.columns.map((name) => (
              <th key={name} scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <tr key={model.id}>
              <th scope="row">{model.id}</th>
              <td>{model.state ?? '–'}</td>
              <td>{orDash(model.n_params, short)}</td>
              <td>{orDash(model.context_length, count)}</td>
              <td>{orDash(model.weight_bytes, bytes)}</td>
              <td>{orDash(model.kv_bytes, bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
