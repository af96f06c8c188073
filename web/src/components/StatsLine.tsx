import type { Message, Stats } from '../conversation.ts';
import { count, duration } from '../format.ts';

interface Props {
  message: Message;
  contextLength?: number;
}

// What an answer took: speed, time to the first token, and how full the context is.
export function StatsLine({ message, contextLength }: Props) {
  const { stats } = message;
  if (!stats) return null;
  return (
    <p class="stats">
      {stats.completionTokens > 1 && stats.generationMs > 0 && <span title="Tokens per second after the first">{speed(stats)}</span>}
      {stats.firstTokenMs !== undefined && <span title="Time to the first token">{duration(stats.firstTokenMs)} to first token</span>}
      {stats.promptTokens === undefined ? <span>≈ {count(stats.completionTokens)} tokens</span> : <ContextUse stats={stats} contextLength={contextLength} />}
    </p>
  );
}

function ContextUse({ stats, contextLength }: { stats: Stats; contextLength?: number }) {
  const prompt = stats.promptTokens ?? 0;
  const used = prompt + stats.completionTokens;
  const detail = `${count(prompt)} prompt (${count(stats.cachedTokens ?? 0)} cached) + ${count(stats.completionTokens)} answer`;
  if (!contextLength) return <span title={detail}>{count(used)} tokens</span>;
  return (
    <span title={detail} class="context">
      <meter min={0} max={contextLength} high={contextLength * 0.9} value={used} aria-label="Context use" />
      {count(used)} of {count(contextLength)}
    </span>
  );
}

// Chunks stand in for tokens until the server has reported usage.
function speed(stats: Stats): string {
  const perSecond = ((stats.completionTokens - 1) * 1000) / stats.generationMs;
  return `${stats.promptTokens === undefined ? '≈ ' : ''}${perSecond.toFixed(perSecond < 10 ? 1 : 0)} tokens/s`;
}
