// A line chart over time. uPlot draws on a canvas, so colours are resolved here and again when the theme changes.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { useStore } from '../store.ts';

export interface Series {
  label: string;
  colour: string; // a custom property of the style sheet
  values: (number | null)[];
}

interface Props {
  title: string;
  times: number[]; // s
  span: number; // s on show
  series: Series[];
  format: (value: number) => string;
  max?: number; // fixed top of the scale
}

const kHeight = 150;

export function Chart({ title, times, span, series, format, max }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const theme = useStore((state) => state.theme);
  const dark = usePrefersDark();

  useEffect(() => {
    const element = box.current!;
    const chart = new uPlot(options(element, { title, times, span, series, format, max }, setHovered), [times, ...series.map((each) => each.values)], element);
    plot.current = chart;
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: kHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [theme, dark]);
  useEffect(() => {
    const end = times.at(-1) ?? 0;
    plot.current?.setData([times, ...series.map((each) => each.values)], false);
    plot.current?.setScale('x', { min: end - span, max: end });
  }, [times]);

  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        {series.map((each) => (
          <span key={each.label} class="legend" data-colour={each.colour}>
            {each.label} <b>{shown(each.values, hovered, format)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={box} role="img" aria-label={`${title} over time`} />
    </figure>
  );
}

function shown(values: (number | null)[], idx: number | null, format: (value: number) => string): string {
  const value = values[idx ?? values.length - 1];
  return value === null || value === undefined ? '–' : format(value);
}

function options(element: HTMLElement, { series, format, max }: Props, hover: (idx: number | null) => void): uPlot.Options {
  const line = resolve(element, '--border');
  const text = resolve(element, '--muted');
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  return {
    width: element.clientWidth,
    height: kHeight,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_, __, top) => [0, max ?? (top > 0 ? top * 1.15 : 1)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 70, values: (_, ticks) => ticks.map(clock) },
      { ...axis, size: 56, space: 36, values: (_, ticks) => ticks.map(format) },
    ],
    series: [{}, ...series.map((each) => ({ label: each.label, stroke: resolve(element, each.colour), width: 2, points: { show: false } }))],
    hooks: { setCursor: [(chart) => hover(chart.cursor.idx ?? null)] },
  };
}

const clock = (time: number) => new Date(time * 1_000).toLocaleTimeString('en-GB');

function resolve(element: HTMLElement, property: string): string {
  const before = element.style.color;
  element.style.color = `var(${property})`;
  const colour = getComputedStyle(element).color;
  element.style.color = before;
  return colour;
}

function usePrefersDark(): boolean {
  const query = matchMedia('(prefers-color-scheme: dark)');
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const listener = () => setDark(query.matches);
    query.addEventListener('change', listener);
    return () => query.removeEventListener('change', listener);
  }, []);
  return dark;
}
