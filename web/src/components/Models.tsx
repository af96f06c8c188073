import { Fragment, type ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes, count, duration, short } from '../format.ts';
import { cancel, dismiss, download, load, memoryOf, remove, unload, useLibrary, type Library, type Place, type Problem, type Row } from '../models.ts';
import { printable } from '../printable.ts';
import { activeSettings, getState, setSettings, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Dialog } from './Dialog.tsx';
import { Failure } from './Failure.tsx';
import { IconButton } from './Icon.tsx';
import { ModelSearch } from './ModelSearch.tsx';

// The server's models: what they take and can do; loaded, downloaded and deleted by whoever may.
export function Models() {
  const key = useStore((state) => state.key);
  const library = useLibrary(key);
  const main = useRef<HTMLElement>(null);
  const [removing, setRemoving] = useState<Row | null>(null);
  const close = () => setRemoving(null);
  const { rows, rights, error, said } = library;
  // A button that had the focus may be gone with its row.
  useEffect(() => {
    if (document.activeElement === document.body) main.current!.focus({ preventScroll: true });
  }, [rows]);
  return (
    <main class="library" ref={main} tabIndex={-1} aria-label={words.models.title}>
      {error && <Failure error={error.message} kind={error.failure} actions={[]} />}
      <Memory library={library} />
      {Object.hasOwn(words.models.lacks, rights.lacks) && <p class="muted lacks">{words.models.lacks[rights.lacks]}</p>}
      {rows && <Table library={library} remove={setRemoving} />}
      {rights.mayDownload && <ModelSearch library={library} />}
      <p class="visually-hidden" role="status">{said}</p>
      {removing && (
        <Dialog title={words.models.removeTitle} submitLabel={words.models.remove} onClose={close} onSubmit={() => { void remove(removing.id); close(); }}>
          <p>{words.models.removeText(printable(removing.id), removing.fileBytes ? bytes(removing.fileBytes) : '')}</p>
        </Dialog>
      )}
    </main>
  );
}

// The page's name for something of the server's, which may be new to it.
const called = (names: Record<string, string>, name: string) => (Object.hasOwn(names, name) ? names[name]! : printable(name));
const stateOf = (state: string) => called({ ...words.header.states, ...words.models.states }, state);
const nameOf = ({ name }: Place) => called(words.models.places, name);

function Memory({ library: { places, nDiskFree } }: { library: Library }) {
  if (places.length === 0) return null;
  return (
    <ul class="places">
      {places.map((place) => (
        <li key={place.name}>
          <span>{words.models.free(nameOf(place), bytes(place.nFree), bytes(place.nTotal))}</span>
          <meter aria-label={nameOf(place)} max={place.nTotal} value={place.nTotal - place.nFree} high={place.nTotal * 0.9} optimum={0} />
        </li>
      ))}
      {nDiskFree !== undefined && <li><span>{words.models.disk(bytes(nDiskFree))}</span></li>}
    </ul>
  );
}

// Roles are named, since a narrow screen shows rows as cards, which by itself takes them away.
function Table({ library, remove }: { library: Library; remove: (row: Row) => void }) {
  const rows = library.rows!;
  const lost = [...library.problems].filter(([id]) => !rows.some((row) => row.id === id));
  if (rows.length === 0 && lost.length === 0) return <p class="muted">{words.models.none}</p>;
  return (
    <section aria-labelledby="models-here">
      <h2 id="models-here">{words.models.here}</h2>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {words.models.columns.map((name) => (
              <th key={name} scope="col" role="columnheader">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <Fragment key={row.id}>
              {row.state === 'downloading' ? <ComingRow row={row} /> : <ModelRow row={row} library={library} remove={() => remove(row)} />}
              {row.state === 'failed' && row.error && <ProblemRow problem={{ text: row.error, isDownload: false }} />}
              <ProblemRow id={row.id} problem={library.problems.get(row.id)} />
            </Fragment>
          ))}
          {lost.map(([id, problem]) => (
            <Fragment key={id}>
              <tr role="row">
                <th scope="row" role="rowheader">{printable(id)}</th>
                <td role="cell" colSpan={6} />
              </tr>
              <ProblemRow id={id} problem={problem} />
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ModelRow({ row, library, remove }: { row: Row; library: Library; remove: () => void }) {
  const name = printable(row.id);
  const kind = [...row.kind.map(printable), row.nParams ? words.header.parameters(short(row.nParams)) : ''].filter(Boolean).join(', ');
  const { mayLoad } = library.rights;
  const answers = row.abilities.length === 0 || row.abilities.includes('completion');
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        {name}
        {kind && <small>{kind}</small>}
      </th>
      <Cell column={1}>{row.fileBytes && bytes(row.fileBytes)}</Cell>
      <Cell column={2}>{row.nCtx && count(row.nCtx)}</Cell>
      <Cell column={3}>{(row.usedBytes || row.neededBytes) && <Needs row={row} places={library.places} />}</Cell>
      <Cell column={4}>
        {row.abilities.length > 0 && <ul class="abilities">{row.abilities.map((each) => <li key={each}>{called(words.models.abilities, each)}</li>)}</ul>}
      </Cell>
      <Cell column={5}>
        <span class={`state ${row.state}`}>{stateOf(row.state)}</span>
        {row.state === 'loading' && <progress aria-label={stateOf('loading')} max={1} value={row.progress ?? 0} />}
      </Cell>
      <td role="cell" class="acts">
        <div class="buttons">
          {answers && row.state !== 'unloading' && <button type="button" aria-label={`${words.header.chat}: ${name}`} onClick={() => chatWith(row.id)}>{words.header.chat}</button>}
          {mayLoad && <LoadButton row={row} />}
          {row.mayDelete && <IconButton icon="trash" label={words.models.removeThis(name)} onClick={remove} />}
        </div>
      </td>
    </tr>
  );
}

// One button in all states, so that it keeps the focus.
function LoadButton({ row: { id, state } }: { row: Row }) {
  const isLoaded = state === 'ready' || state === 'unloading';
  const isBusy = state === 'loading' || state === 'unloading';
  const label = isLoaded ? words.models.unload : words.models.load;
  const act = () => void (isLoaded ? unload(id) : load(id));
  return (
    <button type="button" aria-label={`${label}: ${printable(id)}`} aria-disabled={isBusy} onClick={isBusy ? undefined : act}>
      {label}
    </button>
  );
}

function chatWith(id: string): void {
  location.hash = '';
  setSettings({ ...activeSettings({ ...getState(), activeId: null }), model: id });
}

function Cell({ column, children }: { column: number; children: ComponentChildren }) {
  return <td role="cell" data-label={words.models.columns[column]}>{children || '–'}</td>;
}

function Needs({ row, places }: { row: Row; places: Place[] }) {
  const memory = memoryOf(places);
  const n = row.usedBytes ?? row.neededBytes!;
  const isTooMuch = row.usedBytes === undefined && n > memory.nFree;
  return (
    <>
      {row.usedBytes === undefined ? words.models.needs(bytes(n)) : words.models.uses(bytes(n))}
      {Number.isFinite(memory.nTotal) && <meter aria-label={words.models.columns[3]} max={memory.nTotal} value={n} high={row.usedBytes === undefined ? memory.nFree : memory.nTotal} optimum={0} />}
      {isTooMuch && <small class="too-much">{words.models.needsMore}</small>}
    </>
  );
}

function ComingRow({ row }: { row: Row }) {
  const name = printable(row.id);
  return (
    <tr role="row">
      <th scope="row" role="rowheader">{name}</th>
      <td role="cell" colSpan={5} class="coming"><Coming row={row} /></td>
      <td role="cell" class="acts">
        <div class="buttons"><button type="button" aria-label={`${words.common.cancel}: ${name}`} onClick={() => void cancel(row.id)}>{words.common.cancel}</button></div>
      </td>
    </tr>
  );
}

// How far a download is, how fast, and how long it will take.
export function Coming({ row: { nDone, nTotal, rate } }: { row: Row }) {
  if (!nTotal) return <>{words.models.starting}</>;
  const left = nTotal - (nDone ?? 0);
  const parts = [words.models.progress(bytes(nDone ?? 0), bytes(nTotal)), rate ? `${bytes(rate)}/s` : '', rate && left > 0 ? words.models.left(duration((left / rate) * 1_000)) : ''];
  return (
    <>
      <progress aria-label={words.models.states['downloading']} max={nTotal} value={nDone ?? 0} />
      <small>{parts.filter(Boolean).join(', ')}</small>
    </>
  );
}

function ProblemRow({ id, problem }: { id?: string; problem?: Problem }) {
  if (!problem) return null;
  const again = problem.isDownload ? [{ label: words.models.resume, run: () => void download(id!) }] : [];
  const actions = id === undefined ? [] : [...again, { label: words.header.dismiss, run: () => dismiss(id) }];
  return (
    <tr role="row" class="problem-row">
      <td role="cell" colSpan={7}><Failure error={problem.text} actions={actions} /></td>
    </tr>
  );
}
