// Numbers as people read them.
import { words } from './words.ts';

export const count = (n: number): string => n.toLocaleString(words.locale, { maximumFractionDigits: 0 });

// With that many digits after the point.
const fixed = (n: number, digits: number): string => n.toLocaleString(words.locale, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });

export function duration(ms: number): string {
  if (ms < 1_000) return words.time.ms(fixed(ms, 0));
  if (ms >= 3_600_000) return words.time.hours(Math.floor(ms / 3_600_000), Math.floor((ms % 3_600_000) / 60_000));
  if (ms < 60_000) return words.time.seconds(fixed(ms / 1_000, ms < 10_000 ? 1 : 0));
  return words.time.minutes(Math.floor(ms / 60_000), Math.round((ms % 60_000) / 1_000));
}

// "Today", "Yesterday", "Last 7 days" or the month of a time.
export function age(time: number, now = new Date()): string {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const kDayMs = 86_400_000;
  if (time >= midnight) return words.time.today;
  if (time >= midnight - kDayMs) return words.time.yesterday;
  if (time >= midnight - 7 * kDayMs) return words.time.lastWeek;
  return new Date(time).toLocaleDateString(words.locale, { month: 'long', year: 'numeric' });
}

// 1.5 GB, in powers of 1,000 as disks and models are labelled.
export function bytes(n: number): string {
  const kUnits = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(kUnits.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, n)) / 3)));
  const value = n / 1_000 ** power;
  return `${fixed(value, value < 10 && power > 0 ? 1 : 0)} ${kUnits[power]}`;
}

// 1.2B, 4.5M: parameters, as models' names spell them.
export function short(n: number): string {
  const [value, unit] = n >= 1e9 ? [n / 1e9, 'B'] : n >= 1e6 ? [n / 1e6, 'M'] : [n / 1e3, 'K'];
  return `${fixed(value, value < 10 ? 1 : 0)}${unit}`;
}

export const percent = (share: number): string => `${fixed(share * 100, 0)} %`;
