import { continueAnswer, moveToNewChat, regenerate, retryWithoutOldest } from '../chat.ts';
import type { Conversation, Message } from '../conversation.ts';
import { words } from '../words.ts';
import { Failure } from './Failure.tsx';

interface Props {
  conversation: Conversation;
  message: Message;
  running: boolean;
  isLast: boolean;
}

// How an answer ended, where it did not end by itself, and what can be done then.
export function Outcome({ conversation, message, running, isLast }: Props) {
  if (message.status === 'failed') return <Failed conversation={conversation} message={message} running={running} />;
  if (message.status !== 'done' && message.status !== 'stopped') return null;
  const isStopped = message.status === 'stopped';
  if (isStopped && (!isLast || !(message.content || message.reasoning))) return <p class="outcome">{words.turns.stopped}</p>;
  if (isStopped || (message.finish === 'length' && isLast)) {
    return (
      <p class="outcome">
        {isStopped ? words.turns.stopped : words.turns.cut}{' '}
        <button type="button" onClick={() => continueAnswer(conversation, message)} disabled={running}>
          {words.turns.continue}
        </button>
      </p>
    );
  }
  return message.content || message.calls ? null : <p class="outcome">{words.turns.empty}</p>;
}

function Failed({ conversation, message, running }: Omit<Props, 'isLast'>) {
  const retry = { label: words.common.retry, run: () => regenerate(conversation, message) };
  const shorten = [
    { label: words.turns.leaveOut, run: () => retryWithoutOldest(conversation, message) },
    { label: words.turns.newChat, run: () => moveToNewChat(conversation) },
  ];
  const actions = message.failure === 'too long' ? shorten : [retry];
  return <Failure error={message.error ?? words.turns.failed} kind={message.failure} disabled={running} actions={actions} />;
}
