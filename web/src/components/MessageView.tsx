import { Component } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { edit, editAnswer, regenerate, removeMessage, show } from '../chat.ts';
import { siblings, type Conversation, type Message } from '../conversation.ts';
import { copyable } from '../copyable.ts';
import { duration } from '../format.ts';
import { useNear } from '../near.ts';
import { printableProse } from '../printable.ts';
import { conversation as current } from '../store.ts';
import { words } from '../words.ts';
import { CopyButton } from './CopyButton.tsx';
import { FileList } from './FileList.tsx';
import { Icon, IconButton } from './Icon.tsx';
import { Markdown } from './Markdown.tsx';
import { Outcome } from './Outcome.tsx';
import { Plain } from './Plain.tsx';
import { StatsLine } from './StatsLine.tsx';
import { ToolCalls } from './ToolCalls.tsx';
import { TurnEditor } from './TurnEditor.tsx';

interface Props {
  conversation: Conversation;
  message: Message;
  version: number; // of the versions of this turn
  nVersions: number;
  running: boolean;
  isLast: boolean;
  atOnce: boolean; // rendered without waiting until it is near the view
  contextLength?: number;
}

const kLinePx = 26;
const kLineChars = 90;

// A message that did not change is not rendered again when its conversation does. Its buttons therefore ask for the
// conversation as it is by then; an outcome gets it as it was.
export class MessageView extends Component<Props> {
  override shouldComponentUpdate({ conversation, atOnce: _atOnce, ...next }: Props): boolean {
    const old = this.props;
    if (hasOutcome(next.message) && conversation !== old.conversation) return true;
    return Object.entries(next).some(([name, value]) => value !== old[name as keyof Props]);
  }

  override render(props: Props) {
    return <Turn {...props} />;
  }
}

function hasOutcome({ role, status, finish, content }: Message): boolean {
  return role === 'assistant' && (status !== 'done' || finish === 'length' || !content);
}

function Turn(props: Props) {
  const { ref, near } = useNear<HTMLElement>(props.atOnce);
  const [editing, setEditing] = useState(false);
  const { message } = props;
  const isUser = message.role === 'user';
  const startEditing = () => setEditing(true);
  if (editing) return <Editor {...props} close={() => setEditing(false)} />;
  return (
    <article
      ref={ref}
      class={`turn ${isUser ? 'user' : 'answer'} ${near ? '' : 'far'}`}
      style={{ containIntrinsicHeight: `auto ${expectedPx(message.content)}px` }}
      aria-label={isUser ? words.answers.you : message.model || words.answers.assistant}
      aria-busy={isUser ? undefined : message.status === 'streaming'}
    >
      {!near ? printableProse(message.content) : isUser ? <Question {...props} edit={startEditing} /> : <Answer {...props} edit={startEditing} />}
    </article>
  );
}

// Until it is rendered for the first time.
function expectedPx(text: string): number {
  return Math.ceil(text.length / kLineChars + 3) * kLinePx;
}

// An edited question is asked again; an edited answer stands as it is, or is written on.
function Editor({ conversation: { id }, message, isLast, close }: Props & { close: () => void }) {
  const isUser = message.role === 'user';
  const save = (text: string | null, goesOn = false) => {
    close();
    const now = current(id);
    if (!text || !now) return;
    if (isUser) edit(now, message, text);
    else editAnswer(now, message, text, goesOn);
  };
  const more = !isUser && isLast ? { label: words.turns.saveAndContinue, run: (text: string) => save(text, true) } : undefined;
  return <TurnEditor text={message.content} label={isUser ? words.common.send : words.turns.save} done={save} more={more} />;
}

function Question({ message, running, edit, ...rest }: Props & { edit: () => void }) {
  const { id } = rest.conversation;
  return (
    <>
      {message.files && <FileList files={message.files} />}
      {message.content && <div class="bubble"><Plain text={message.content} /></div>}
      <div class="actions">
        <Branches {...rest} message={message} disabled={running} />
        <IconButton icon="edit" label={words.answers.edit} onClick={edit} disabled={running} />
        <CopyButton label={words.answers.copyMessage} text={() => copyable(message.content)} />
        <IconButton icon="trash" label={words.answers.deleteMessage} onClick={() => withCurrent(id, (now) => removeMessage(now, message))} disabled={running} />
      </div>
    </>
  );
}

function Answer({ conversation, message, running, isLast, contextLength, edit, ...rest }: Props & { edit: () => void }) {
  const streaming = message.status === 'streaming';
  const { id } = conversation;
  return (
    <>
      {message.reasoning && <Reasoning message={message} />}
      {message.content && <Markdown text={message.content} streaming={streaming} />}
      {streaming && !message.content && <Waiting since={message.createdAt} reasoning={!!message.reasoning} />}
      {message.calls && <ToolCalls calls={message.calls} />}
      <Outcome conversation={conversation} message={message} running={running} isLast={isLast} />
      <StatsLine message={message} contextLength={contextLength} />
      {!streaming && (
        <div class="actions">
          <Branches {...rest} conversation={conversation} message={message} disabled={running} />
          {message.content && <CopyButton label={words.answers.copyMessage} text={() => copyable(message.content)} />}
          {!message.calls && <IconButton icon="edit" label={words.turns.editAnswer} onClick={edit} disabled={running} />}
          <IconButton icon="again" label={words.answers.again} onClick={() => withCurrent(id, (now) => regenerate(now, message))} disabled={running} />
          <IconButton icon="trash" label={words.answers.deleteMessage} onClick={() => withCurrent(id, (now) => removeMessage(now, message))} disabled={running} />
        </div>
      )}
    </>
  );
}

function withCurrent(id: string, act: (conversation: Conversation) => void): void {
  const now = current(id);
  if (now) act(now);
}

// Folded thoughts are not rendered.
function Reasoning({ message }: { message: Message }) {
  const [open, setOpen] = useState(false);
  const thinking = message.status === 'streaming' && !message.content;
  const took = message.stats?.reasoningMs;
  const label = thinking ? words.answers.thinking : took ? words.answers.thoughtFor(duration(took)) : words.answers.thoughts;
  return (
    <details class="reasoning" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="right" />
        {label}
      </summary>
      {open && <Markdown text={message.reasoning ?? ''} streaming={thinking} />}
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
      {seconds >= 2 ? `${reasoning ? words.answers.thinking : words.answers.waiting}, ${seconds} s` : ''}
    </p>
  );
}

type BranchesProps = Pick<Props, 'conversation' | 'message' | 'version' | 'nVersions'> & { disabled: boolean };

function Branches({ conversation: { id }, message, version, nVersions, disabled }: BranchesProps) {
  if (nVersions < 2) return null;
  const step = (by: number) => withCurrent(id, (now) => {
    const other = siblings(now, message)[version + by];
    if (other) show(now, other);
  });
  return (
    <span class="branches">
      <IconButton icon="left" label={words.answers.previous} onClick={() => step(-1)} disabled={disabled || version === 0} />
      {version + 1} / {nVersions}
      <IconButton icon="right" label={words.answers.next} onClick={() => step(1)} disabled={disabled || version === nVersions - 1} />
    </span>
  );
}
