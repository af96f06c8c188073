// Numbers as people read them.
const kGrouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (n: number): string => kGrouped.format(n);

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
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
