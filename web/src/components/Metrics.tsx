import { useEffect, useState } from 'preact/hooks';
import { ApiError, fetchHistory, type History } from '../api.ts';
import { bytes, count, duration, percent } from '../format.ts';
import { merge, type Columns } from '../metrics.ts';
import { askForKey, getState, loadModels, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Chart } from './Chart.tsx';
import { Failure } from './Failure.tsx';
import { ModelTable } from './ModelTable.tsx';

const kEveryMs = 5_000; // as often as the server takes a sample

export function Metrics() {
  const { history, samples, error, poll } = useHistory();
  return (
    <main class="metrics" tabIndex={0} aria-label={words.metrics.title}>
      {error && <Failure error={error.message} kind={error.failure} actions={[{ label: words.common.retry, run: () => void poll() }]} />}
      {history && <Totals history={history} />}
      <ModelTable />
      {samples['time'] && <Charts samples={samples} />}
    </main>
  );
}

function useHistory() {
  const [history, setHistory] = useState<History | null>(null);
  const [samples, setSamples] = useState<Columns>({});
  const [error, setError] = useState<ApiError | null>(null);
  const key = useStore((state) => state.key);
  const [poll, setPoll] = useState<() => void>(() => () => {});
  useEffect(() => {
    const controller = new AbortController();
    let seen: Columns = {};
    const ask = async () => {
      if (document.visibilityState !== 'visible') return;
      try {
        const told = await fetchHistory(Number(seen['time']?.at(-1) ?? 0), getState().key, controller.signal);
        seen = merge(seen, told.samples, told.span_s);
        setSamples(seen);
        setHistory(told);
        setError(null);
        void loadModels();
      } catch (failure) {
        if (controller.signal.aborted) return;
        askForKey(failure);
        if (failure instanceof ApiError && failure.failure === 'unauthorized') clearInterval(timer); // another key begins anew
        setError(failure instanceof ApiError ? failure : new ApiError('refused', String(failure)));
      }
    };
    setPoll(() => ask);
    void ask();
    const timer = setInterval(ask, kEveryMs);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [key]);
  return { history, samples, error, poll };
}

function Totals({ history: { uptime_s, totals } }: { history: History }) {
  const n = (name: string) => totals[name] ?? 0;
  const looked = n('prefix_queried_tokens');
  const facts: [string, string][] = [
    [words.metrics.running, duration(uptime_s * 1_000)],
    [words.metrics.answered, count(n('requests'))],
    [words.metrics.refused, count(n('refused'))],
    [words.metrics.failed, count(n('failed'))],
    [words.metrics.cached, looked > 0 ? percent(n('prefix_hit_tokens') / looked) : '–'],
    [words.metrics.preempted, count(n('preemptions'))],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Charts({ samples }: { samples: Columns }) {
  const times = samples['time'] as number[];
  const column = (label: string, name: string) => ({ label, values: samples[name] ?? times.map(() => null) });
  const seconds = (s: number) => duration(s * 1_000);
  return (
    <div class="charts">
      <Chart times={times} title={words.metrics.requests} whole format={count} empty={words.metrics.noRequests} series={[column(words.metrics.requestsRunning, 'running'), column(words.metrics.requestsWaiting, 'waiting')]} />
      <Chart times={times} title={words.metrics.tokens} format={count} empty={words.metrics.noTokens} series={[column(words.metrics.generated, 'generated_tokens_per_s'), column(words.metrics.prompt, 'prompt_tokens_per_s')]} />
      <Chart times={times} title={words.metrics.firstToken} format={seconds} empty={words.metrics.noRequests} series={[column('p50', 'first_token_p50_s'), column('p95', 'first_token_p95_s')]} />
      <Chart times={times} title={words.metrics.betweenTokens} format={seconds} empty={words.metrics.noTokens} series={[column('p50', 'inter_token_p50_s'), column('p95', 'inter_token_p95_s')]} />
      <Chart times={times} title={words.metrics.caches} max={1} format={percent} empty={words.metrics.emptyCaches} series={[column(words.metrics.kvInUse, 'kv_use'), column(words.metrics.promptFound, 'prefix_hit_share')]} />
      <Chart times={times} title={words.metrics.memory} format={bytes} empty={words.metrics.noMemory} series={[column(words.metrics.process, 'resident_bytes'), column(words.metrics.kvCache, 'kv_bytes')]} />
    </div>
  );
}
