import { useEffect, useState } from 'preact/hooks';
import { ApiError, fetchMetrics } from '../api.ts';
import { count, duration } from '../format.ts';
import { point, readScrape, type Point, type Scrape } from '../metrics.ts';
import { getState, setState, useStore } from '../store.ts';
import { Chart } from './Chart.tsx';

const kEveryMs = 2_000;
const kSpan = 300; // s on show
const kLatencyWindow = 5; // scrapes that a quantile covers

// Kept outside the component: leaving the view and coming back does not lose what was seen.
let scrapes: Scrape[] = [];
let points: Point[] = [];

export function Metrics() {
  const [error, setError] = useState<string | null>(null);
  const [seen, setSeen] = useState(points);
  const key = useStore((state) => state.key);
  useEffect(() => {
    const controller = new AbortController();
    const poll = async () => {
      if (document.visibilityState !== 'visible') return;
      try {
        take(readScrape(await fetchMetrics(getState().key, controller.signal), Date.now() / 1_000));
        setSeen(points);
        setError(null);
      } catch (failure) {
        if (!controller.signal.aborted) setError(report(failure));
      }
    };
    void poll();
    const timer = setInterval(poll, kEveryMs);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [key]);
  return (
    <main class="metrics">
      {error && <p class="failure" role="alert">{error}</p>}
      <Charts points={seen} />
      <p class="muted">Read from /metrics every two seconds while this view is open. Latencies cover the last ten seconds.</p>
    </main>
  );
}

function report(failure: unknown): string {
  if (failure instanceof ApiError && failure.failure === 'unauthorized') setState({ askKey: true });
  return failure instanceof Error ? failure.message : String(failure);
}

function take(scrape: Scrape): void {
  const next = point(scrape, scrapes.at(-1), scrapes[0]);
  scrapes = [...scrapes, scrape].slice(-kLatencyWindow);
  points = [...points, next].filter((each) => each.time > scrape.time - kSpan);
}

function Charts({ points }: { points: Point[] }) {
  const times = points.map((each) => each.time);
  const column = (name: keyof Point) => points.map((each) => each[name]);
  const common = { times, span: kSpan };
  const ms = (seconds: number) => duration(seconds * 1_000);
  return (
    <div class="charts">
      <Chart {...common} title="Requests" format={(n) => count(n)} series={[
        { label: 'running', colour: '--line-1', values: column('running') },
        { label: 'waiting', colour: '--line-2', values: column('waiting') },
      ]} />
      <Chart {...common} title="KV cache in use" max={1} format={(share) => `${(share * 100).toFixed(0)} %`} series={[
        { label: 'used', colour: '--line-1', values: column('kvUse') },
      ]} />
      <Chart {...common} title="Tokens per second" format={(n) => count(n)} series={[
        { label: 'generated', colour: '--line-1', values: column('generatedRate') },
        { label: 'prompt', colour: '--line-2', values: column('promptRate') },
      ]} />
      <Chart {...common} title="Time to first token" format={ms} series={[
        { label: 'p50', colour: '--line-1', values: column('firstTokenP50') },
        { label: 'p95', colour: '--line-2', values: column('firstTokenP95') },
      ]} />
      <Chart {...common} title="Time between tokens" format={ms} series={[
        { label: 'p50', colour: '--line-1', values: column('interTokenP50') },
        { label: 'p95', colour: '--line-2', values: column('interTokenP95') },
      ]} />
    </div>
  );
}
