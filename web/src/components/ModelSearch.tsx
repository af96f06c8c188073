import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { bytes, count, short } from '../format.ts';
import { choices, download, memoryOf, search, type Choice, type Hit, type Library } from '../models.ts';
import { printable } from '../printable.ts';
import { askForKey } from '../store.ts';
import { words } from '../words.ts';
import { Failure } from './Failure.tsx';
import { Coming } from './Models.tsx';

type Asked<T> = 'nothing' | 'waiting' | ApiError | T;

// The state of the latest question to the server, the only one at a time. It ends with the component.
function useQuestion<T>(): [Asked<T>, (ask: (signal: AbortSignal) => Promise<T>) => void] {
  const [asked, setAsked] = useState<Asked<T>>('nothing');
  const controller = useRef<AbortController | null>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const ask = (question: (signal: AbortSignal) => Promise<T>) => {
    controller.current?.abort();
    const { signal } = (controller.current = new AbortController());
    setAsked('waiting');
    question(signal).then(
      (answer) => signal.aborted || setAsked(() => answer),
      (error) => {
        if (signal.aborted) return;
        askForKey(error);
        setAsked(error instanceof ApiError ? error : new ApiError('refused', String(error)));
      },
    );
  };
  return [asked, ask];
}

export function ModelSearch({ library }: { library: Library }) {
  const [query, setQuery] = useState('');
  const [asked, ask] = useQuestion<{ query: string; hits: Hit[]; note: string }>();
  const submit = (event: Event) => {
    event.preventDefault();
    const trimmed = query.trim();
    if (trimmed) ask(async (signal) => ({ query: trimmed, ...(await search(trimmed, signal)) }));
  };
  return (
    <section aria-labelledby="get-model">
      <h2 id="get-model">{words.models.get}</h2>
      <form class="search" role="search" onSubmit={submit}>
        <input type="search" aria-label={words.models.query} placeholder={words.models.queryHint} maxLength={200} value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        <button type="submit" class="primary">{words.models.search}</button>
      </form>
      <p class="muted" role="status">{asked === 'waiting' ? words.models.searching : isAnswer(asked) ? words.models.found(asked.hits.length) : ''}</p>
      {asked instanceof ApiError && <Failure error={asked.message} kind={asked.failure} actions={[]} />}
      {isAnswer(asked) && (
        <>
          {asked.note && <p class="muted">{printable(asked.note)}</p>}
          <ul class="hits">
            {withName(asked).map((hit) => (
              <HitRow key={hit.name} hit={hit} library={library} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const isAnswer = <T,>(asked: Asked<T>): asked is T => typeof asked !== 'string' && !(asked instanceof ApiError);

// Who typed a name may know more than the search.
function withName({ query, hits }: { query: string; hits: Hit[] }): Hit[] {
  const isName = /^[^\s]+[:/][^\s]+$/.test(query) && !hits.some(({ name }) => name === query);
  return isName ? [{ name: query }, ...hits] : hits;
}

function HitRow({ hit, library }: { hit: Hit; library: Library }) {
  const [asked, ask] = useQuestion<Choice[]>();
  const [open, setOpen] = useState(false);
  const name = printable(hit.name);
  const toggle = () => {
    if (!open && !isAnswer(asked)) ask((signal) => choices(hit.name, signal));
    setOpen(!open);
  };
  const facts = [
    hit.standsFor ? words.models.standsFor(printable(hit.standsFor)) : '',
    hit.nParams ? words.header.parameters(short(hit.nParams)) : '',
    hit.nDownloads ? words.models.downloads(count(hit.nDownloads)) : '',
  ];
  return (
    <li>
      <div class="hit">
        <span class="name">
          {name}
          <small>{facts.filter(Boolean).join(', ')}</small>
        </span>
        <span class="buttons">
          <button type="button" aria-expanded={open} aria-label={words.models.choicesOf(name)} onClick={toggle}>{words.models.choices}</button>
          <DownloadButton id={hit.name} library={library} />
        </span>
      </div>
      {open && asked === 'waiting' && <p class="muted" role="status">{words.models.searching}</p>}
      {open && asked instanceof ApiError && <Failure error={asked.message} kind={asked.failure} actions={[{ label: words.common.retry, run: () => ask((signal) => choices(hit.name, signal)) }]} />}
      {open && isAnswer(asked) && (
        <ul class="choices" aria-label={words.models.choicesOf(name)}>
          {asked.map((choice) => (
            <li key={choice.name} class="hit">
              <span class="name">
                {printable(tagOf(choice.name))}
                <small>{[bytes(choice.nBytes), choice.isUsual ? words.models.usual : '', choice.nBytes > memoryOf(library.places).nFree ? words.models.needsMore : ''].filter(Boolean).join(', ')}</small>
              </span>
              <DownloadButton id={choice.name} library={library} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

// "Q4_K_M" of "hf:OWNER/REPO:Q4_K_M".
const tagOf = (name: string) => /^hf:[^:]+:(.+)$/.exec(name)?.[1] ?? name;

// The download, or how far it is.
function DownloadButton({ id, library }: { id: string; library: Library }) {
  const row = library.rows?.find((each) => each.id === id);
  const problem = library.problems.get(id);
  if (row?.state === 'downloading') return <span class="coming"><Coming row={row} /></span>;
  if (row) return <span class="muted">{words.models.isHere}</span>;
  return (
    <>
      {problem && <small class="too-much">{printable(problem.text)}</small>}
      <button type="button" aria-label={words.models.downloadThis(printable(id))} onClick={() => void download(id)}>{problem ? words.models.resume : words.models.download}</button>
    </>
  );
}
