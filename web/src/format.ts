// Numbers as people read them.
const kGrouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (n: number): string => kGrouped.format(n);

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms >= 3_600_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

// "Today", "Yesterday", "Last 7 days" or the month of a time.
export function age(time: number, now = new Date()): string {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const kDayMs = 86_400_000;
  if (time >= midnight) return 'Today';
  if (time >= midnight - kDayMs) return 'Yesterday';
  if (time >= midnight - 7 * kDayMs) return 'Last 7 days';
  return new Date(time).toLocaleDateString('en-US', { month: 'long', year: 'numeric' });
}

// 1.5 GB, in powers of 1,000 as disks and models are labelled.
export function bytes(n: number): string {
  const kUnits = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(kUnits.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, n)) / 3)));
  const value = n / 1_000 ** power;
  return `${value.toFixed(value < 10 && power > 0 ? 1 : 0)} ${kUnits[power]}`;
}

// 1.2B, 4.5M: parameters, as models' names spell them.
export function short(n: number): string {
  const [value, unit] = n >= 1e9 ? [n / 1e9, 'B'] : n >= 1e6 ? [n / 1e6, 'M'] : [n / 1e3, 'K'];
  return `${value.toFixed(value < 10 ? 1 : 0)}${unit}`;
}

export const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
