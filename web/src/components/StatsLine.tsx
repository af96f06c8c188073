import type { Message, Stats } from '../conversation.ts';
import { count, duration } from '../format.ts';
import { words } from '../words.ts';

const kMinTokens = 20; // of an answer whose speed says something

interface Props {
  message: Message;
  contextLength?: number;
}

// The cost of an answer: speed, time to the first token, and how full the context is.
export function StatsLine({ message, contextLength }: Props) {
  const { stats } = message;
  if (!stats) return null;
  return (
    <p class="stats">
      {stats.completionTokens >= kMinTokens && stats.generationMs > 0 && <span title={words.answers.speedTitle}>{speed(stats)}</span>}
      {stats.firstTokenMs !== undefined && <span title={words.answers.firstTokenTitle}>{words.answers.firstToken(duration(stats.firstTokenMs))}</span>}
      {stats.promptTokens === undefined ? <span>≈ {words.answers.tokens(count(stats.completionTokens))}</span> : <ContextUse stats={stats} contextLength={contextLength} />}
    </p>
  );
}

function ContextUse({ stats, contextLength }: { stats: Stats; contextLength?: number }) {
  const prompt = stats.promptTokens ?? 0;
  const used = prompt + stats.completionTokens;
  const detail = words.answers.usage(count(prompt), count(stats.cachedTokens ?? 0), count(stats.completionTokens));
  if (!contextLength) return <span title={detail}>{words.answers.tokens(count(used))}</span>;
  return (
    <span title={detail} class="context">
      <meter min={0} max={contextLength} high={contextLength * 0.9} value={used} aria-label={words.answers.contextUse} />
      {words.answers.of(count(used), count(contextLength))}
    </span>
  );
}

// Chunks stand in for tokens until the server has reported usage.
function speed(stats: Stats): string {
  const perSecond = ((stats.completionTokens - 1) * 1000) / stats.generationMs;
  const digits = perSecond < 10 ? 1 : 0;
  const shown = perSecond.toLocaleString(words.locale, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });
  return `${stats.promptTokens === undefined ? '≈ ' : ''}${words.answers.speed(shown)}`;
}
