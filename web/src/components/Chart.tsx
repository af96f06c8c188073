// Lines over time, as SVG.
import { useEffect, useRef, useState } from 'preact/hooks';
import { hasAny, path, ticks } from '../metrics.ts';
import { words } from '../words.ts';

export interface Series {
  label: string;
  values: (number | null)[];
}

interface Props {
  title: string;
  times: number[]; // Unix time in s
  series: Series[]; // two at most: the style sheet has two colours
  format: (value: number) => string;
  empty: string; // what to say where no value is above 0
  max?: number; // fixed top of the scale
  whole?: boolean; // values are counts
}

const kHeight = 150;
const kLeft = 58;
const kRight = 10;
const kTop = 8;
const kBottom = 22;
const kNarrowPx = 420; // five times of day have no room
const kLeastSpan = 60; // s on show at least

export function Chart(props: Props) {
  const { title, times, series, format, empty } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [hovered, setHovered] = useState<number | null>(null);
  const idx = hovered !== null && hovered < times.length ? hovered : times.length - 1;
  const isEmpty = !series.some((each) => hasAny(each.values));
  const shown = series.map(({ label, values }) => `${label} ${formatted(values[idx], format)}`);
  const hover = (event: PointerEvent) => setHovered(nearest(times, timeAt(times, event.offsetX, width)));
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        {series.map(({ label, values }, nth) => (
          <span key={label} class={`legend line-${nth + 1}`}>
            {label} <b>{formatted(values[idx], format)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={isEmpty ? words.metrics.empty(title, empty) : words.metrics.overTime(title, shown.join(', '))}>
        {width > 0 && times.length > 0 && (
          <svg width={width} height={kHeight} onPointerMove={hover} onPointerLeave={() => setHovered(null)}>
            <Lines {...props} width={width} hovered={hovered} />
          </svg>
        )}
        {isEmpty && <p>{empty}</p>}
      </div>
    </figure>
  );
}

function Lines({ times, series, format, max, whole, width, hovered }: Props & { width: number; hovered: number | null }) {
  const top = max ?? Math.max(whole ? 1 : 0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const scale = top > 0 ? ticks(top, 4, whole) : [0];
  const { from, to } = range(times);
  const x = (time: number) => kLeft + ((time - from) / (to - from)) * (width - kLeft - kRight);
  const y = (value: number) => kHeight - kBottom - (top > 0 ? value / (scale.at(-1) ?? top) : 0) * (kHeight - kTop - kBottom);
  const nMarks = width < kNarrowPx ? 3 : 5;
  const marks = Array.from({ length: nMarks }, (_, nth) => from + (nth / (nMarks - 1)) * (to - from));
  return (
    <>
      {scale.map((value) => (
        <g key={value}>
          <line class="grid" x1={kLeft} x2={width - kRight} y1={y(value)} y2={y(value)} />
          <text x={kLeft - 6} y={y(value) + 4} text-anchor="end">{format(value)}</text>
        </g>
      ))}
      {marks.map((time, nth) => (
        <text key={nth} x={x(time)} y={kHeight - 5} text-anchor={nth === 0 ? 'start' : nth === nMarks - 1 ? 'end' : 'middle'}>{clock(time, to - from)}</text>
      ))}
      {series.map(({ label, values }, nth) => (
        <path key={label} class={`line-${nth + 1}`} d={path(values, (idx) => x(times[idx]!), y)} />
      ))}
      {hovered !== null && times[hovered] !== undefined && (
        <>
          <line class="cursor" x1={x(times[hovered])} x2={x(times[hovered])} y1={kTop} y2={kHeight - kBottom} />
          <text class="when" x={width - kRight} y={kTop + 4} text-anchor="end">{clock(times[hovered], 0)}</text>
        </>
      )}
    </>
  );
}

// The times on show: all of them, and no less than a minute.
function range(times: number[]): { from: number; to: number } {
  const to = times.at(-1) ?? 0;
  return { from: Math.min(times[0] ?? to, to - kLeastSpan), to };
}

function timeAt(times: number[], xPx: number, width: number): number {
  const { from, to } = range(times);
  return from + ((xPx - kLeft) / (width - kLeft - kRight)) * (to - from);
}

function nearest(times: number[], time: number): number {
  const after = times.findIndex((each) => each >= time);
  if (after <= 0) return after < 0 ? times.length - 1 : 0;
  return times[after]! - time < time - times[after - 1]! ? after : after - 1;
}

const formatted = (value: number | null | undefined, format: (value: number) => string) => (value === null || value === undefined ? '–' : format(value));

// With seconds where the span is short.
const clock = (time: number, span: number) =>
  new Date(time * 1_000).toLocaleTimeString(words.locale, { hourCycle: 'h23', hour: '2-digit', minute: '2-digit', second: span < 600 ? '2-digit' : undefined });

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}
