import { continueAnswer, moveToNewChat, regenerate, retryWithoutOldest } from '../chat.ts';
import type { Conversation, Message } from '../conversation.ts';
import { Failure } from './Failure.tsx';

interface Props {
  conversation: Conversation;
  message: Message;
  running: boolean;
  isLast: boolean;
}

// How an answer ended, where it did not end by itself, and what can be done then.
export function Outcome({ conversation, message, running, isLast }: Props) {
  if (message.status === 'stopped') return <p class="outcome">Stopped.</p>;
  if (message.status === 'failed') return <Failed conversation={conversation} message={message} running={running} />;
  if (message.status !== 'done') return null;
  if (message.finish === 'length' && isLast) {
    return (
      <p class="outcome">
        The answer was cut at its limit.{' '}
        <button type="button" onClick={() => continueAnswer(conversation, message)} disabled={running}>
          Continue
        </button>
      </p>
    );
  }
  return message.content || message.calls ? null : <p class="outcome">The model ended its answer without any text.</p>;
}

function Failed({ conversation, message, running }: Omit<Props, 'isLast'>) {
  const retry = { label: 'Retry', run: () => regenerate(conversation, message) };
  const shorten = [
    { label: 'Leave out the oldest turns', run: () => retryWithoutOldest(conversation, message) },
    { label: 'New chat with this question', run: () => moveToNewChat(conversation) },
  ];
  const actions = message.failure === 'too long' ? shorten : [retry];
  return <Failure error={message.error ?? 'The answer failed.'} kind={message.failure} disabled={running} actions={actions} />;
}
