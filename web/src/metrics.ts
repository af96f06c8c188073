// The server's history of metrics, as far as the page has it.
import type { History } from './api.ts';

export type Columns = History['samples'];

// `newer` after `before`, without what is older than `span` seconds before the newest sample. Where the server is
// another one than before, its samples stand alone.
export function merge(before: Columns, newer: Columns, span: number): Columns {
  const times = [...(before['time'] ?? []), ...(newer['time'] ?? [])] as number[];
  const oldest = (times.at(-1) ?? 0) - span;
  const nDropped = times.findIndex((time) => time > oldest);
  if (nDropped < 0) return newer;
  const merged: Columns = {};
  for (const name of Object.keys(newer)) merged[name] = [...(before[name] ?? []), ...newer[name]!].slice(nDropped);
  return merged;
}

// Round numbers from 0 to `top` or a little beyond, at most `nMost` steps apart.
export function ticks(top: number, nMost: number, whole = false): number[] {
  const rough = top / nMost;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fitting = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999)!;
  const step = whole ? Math.max(1, Math.ceil(fitting)) : fitting;
  const n = Math.ceil((top / step) * 0.999);
  return Array.from({ length: n + 1 }, (_, idx) => idx * step);
}

export const hasAny = (values: (number | null)[]): boolean => values.some((value) => value !== null && value > 0);

// An SVG path through the points that are there; a point between two gaps is a dot.
export function path(values: (number | null)[], x: (idx: number) => number, y: (value: number) => number): string {
  let isDown = false;
  return values
    .map((value, idx) => {
      if (value === null) {
        isDown = false;
        return '';
      }
      const at = `${x(idx).toFixed(1)} ${y(value).toFixed(1)}`;
      const isAlone = !isDown && (values[idx + 1] ?? null) === null;
      const command = isDown ? `L${at}` : isAlone ? `M${at}h0` : `M${at}`;
      isDown = true;
      return command;
    })
    .join('');
}
