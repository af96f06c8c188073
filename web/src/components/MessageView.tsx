import { useEffect, useState } from 'preact/hooks';
import { edit, editAnswer, regenerate, removeMessage, show } from '../chat.ts';
import { siblings, type Conversation, type Message } from '../conversation.ts';
import { duration } from '../format.ts';
import { printableProse } from '../printable.ts';
import { words } from '../words.ts';
import { CopyButton } from './CopyButton.tsx';
import { FileList } from './FileList.tsx';
import { Icon, IconButton } from './Icon.tsx';
import { Markdown } from './Markdown.tsx';
import { Outcome } from './Outcome.tsx';
import { StatsLine } from './StatsLine.tsx';
import { ToolCalls } from './ToolCalls.tsx';
import { TurnEditor } from './TurnEditor.tsx';

interface Props {
  conversation: Conversation;
  message: Message;
  running: boolean;
  isLast: boolean;
  contextLength?: number;
}

export function MessageView(props: Props) {
  return props.message.role === 'user' ? <UserTurn {...props} /> : <Answer {...props} />;
}

function UserTurn({ conversation, message, running }: Props) {
  const [editing, setEditing] = useState(false);
  if (editing) {
    const done = (text: string | null) => {
      setEditing(false);
      if (text) edit(conversation, message, text);
    };
    return <TurnEditor text={message.content} label={words.common.send} done={done} />;
  }
  return (
    <article class="turn user" aria-label="You">
      {message.files && <FileList files={message.files} />}
      {message.content && <div class="bubble">{printableProse(message.content)}</div>}
      <div class="actions">
        <Branches conversation={conversation} message={message} disabled={running} />
        <IconButton icon="edit" label="Edit and ask again" onClick={() => setEditing(true)} disabled={running} />
        <CopyButton label="Copy message" text={printableProse(message.content)} />
        <IconButton icon="trash" label="Delete message" onClick={() => removeMessage(conversation, message)} disabled={running} />
      </div>
    </article>
  );
}

function Answer({ conversation, message, running, isLast, contextLength }: Props) {
  const streaming = message.status === 'streaming';
  const [editing, setEditing] = useState(false);
  if (editing) {
    const save = (text: string | null, goesOn = false) => {
      setEditing(false);
      if (text !== null) editAnswer(conversation, message, text, goesOn);
    };
    const more = isLast ? { label: words.turns.saveAndContinue, run: (text: string) => save(text, true) } : undefined;
    return <TurnEditor text={message.content} label={words.turns.save} done={save} more={more} />;
  }
  return (
    <article class="turn answer" aria-label={message.model || 'Assistant'} aria-busy={streaming}>
      {message.reasoning && <Reasoning message={message} />}
      {message.content && <Markdown text={message.content} streaming={streaming} />}
      {streaming && !message.content && <Waiting since={message.createdAt} reasoning={!!message.reasoning} />}
      {message.calls && <ToolCalls calls={message.calls} />}
      <Outcome conversation={conversation} message={message} running={running} isLast={isLast} />
      <StatsLine message={message} contextLength={contextLength} />
      {!streaming && (
        <div class="actions">
          <Branches conversation={conversation} message={message} disabled={running} />
          {message.content && <CopyButton label="Copy message" text={printableProse(message.content)} />}
          {!message.calls && <IconButton icon="edit" label={words.turns.editAnswer} onClick={() => setEditing(true)} disabled={running} />}
          <IconButton icon="again" label="Answer again" onClick={() => regenerate(conversation, message)} disabled={running} />
          <IconButton icon="trash" label="Delete message" onClick={() => removeMessage(conversation, message)} disabled={running} />
        </div>
      )}
    </article>
  );
}

function Reasoning({ message }: { message: Message }) {
  const thinking = message.status === 'streaming' && !message.content;
  const took = message.stats?.reasoningMs;
  const label = thinking ? 'Thinking' : took ? `Thought for ${duration(took)}` : 'Thoughts';
  return (
    <details class="reasoning">
      <summary>
        <Icon name="right" />
        {label}
      </summary>
      <Markdown text={message.reasoning ?? ''} streaming={thinking} />
    </details>
  );
}

// Seconds appear when a wait gets long, so that a slow prompt does not look like a dead page.
function Waiting({ since, reasoning }: { since: number; reasoning: boolean }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.floor((now - since) / 1_000);
  return (
    <p class="waiting">
      <span class="dots" aria-hidden="true" />
      {seconds >= 2 ? `${reasoning ? 'Thinking' : 'Waiting for the first token'}, ${seconds} s` : ''}
    </p>
  );
}

function Branches({ conversation, message, disabled }: { conversation: Conversation; message: Message; disabled: boolean }) {
  const all = siblings(conversation, message);
  const idx = all.indexOf(message);
  if (all.length < 2) return null;
  return (
    <span class="branches">
      <IconButton icon="left" label="Previous version" onClick={() => show(conversation, all[idx - 1]!)} disabled={disabled || idx === 0} />
      {idx + 1} / {all.length}
      <IconButton icon="right" label="Next version" onClick={() => show(conversation, all[idx + 1]!)} disabled={disabled || idx === all.length - 1} />
    </span>
  );
}
