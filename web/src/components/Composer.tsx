import { useEffect, useRef } from 'preact/hooks';
import { attach, filesOf } from '../attachments.ts';
import { send, stop } from '../chat.ts';
import { branch } from '../conversation.ts';
import { type Draft, draftOf, forgetDraft, setDraft, useDraft } from '../drafts.ts';
import { count } from '../format.ts';
import { usePromptLength, type PromptLength } from '../prompt_length.ts';
import { conversation, useStore } from '../store.ts';
import { words } from '../words.ts';
import { FileList } from './FileList.tsx';
import { FileButton } from './FileButton.tsx';
import { Icon } from './Icon.tsx';
import { enterSends, fit } from './textarea.ts';

const kHasKeyboard = '(hover: hover) and (pointer: fine)';

const isNothing = ({ text, files }: Draft) => !text.trim() && files.length === 0;

export function Composer() {
  const activeId = useStore((state) => state.activeId);
  const running = useStore((state) => state.running.has(state.activeId ?? ''));
  const draft = useDraft(activeId);
  const area = useRef<HTMLTextAreaElement>(null);
  const focus = () => matchMedia(kHasKeyboard).matches && area.current?.focus();
  const isEmpty = isNothing(draft);
  const length = usePromptLength(activeId, draft);

  useEffect(() => void focus(), [activeId, draft.files.length]);
  useEffect(() => fit(area.current!), [draft.text]);

  const submit = () => {
    // The last keys may not have been rendered yet.
    const { text, files } = draftOf(activeId);
    if (running || isNothing({ text, files })) return;
    forgetDraft(activeId);
    send(text.trim(), files);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const recalled = event.key === 'ArrowUp' && isNothing(draftOf(activeId)) ? lastMessage(activeId) : undefined;
    if (!enterSends(event) && recalled === undefined) return;
    event.preventDefault();
    if (recalled === undefined) submit();
    else setDraft(activeId, { text: recalled });
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = filesOf(event.clipboardData);
    if (files.length === 0 || event.clipboardData?.types.includes('text/plain')) return;
    event.preventDefault();
    void attach(files);
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (running) stop(activeId);
    else submit();
    focus();
  };
  return (
    <form class="composer" onSubmit={onSubmit}>
      <FileList files={draft.files} remove={(gone) => setDraft(activeId, { files: draft.files.filter((file) => file !== gone) })} />
      {length && <Length length={length} />}
      <div class="row">
        <FileButton label={words.composer.attach} multiple choose={(files) => void attach(files)}>
          <Icon name="attach" />
        </FileButton>
        <textarea
          ref={area}
          id="message"
          rows={1}
          placeholder={words.composer.placeholder}
          aria-label={words.composer.label}
          value={draft.text}
          onInput={(event) => setDraft(activeId, { text: event.currentTarget.value })}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <button type="submit" class="send" aria-label={running ? words.composer.stop : words.common.send} title={running ? words.composer.stopTitle : words.composer.sendTitle} disabled={!running && isEmpty}>
          <Icon name={running ? 'stop' : 'send'} />
        </button>
      </div>
    </form>
  );
}

// The user's last turn in a chat.
function lastMessage(chat: string | null): string | undefined {
  const active = conversation(chat);
  return active && branch(active).findLast(({ role, content }) => role === 'user' && content !== '')?.content;
}

function Length({ length: { nTokens, isGuess, nCtx } }: { length: PromptLength }) {
  const shown = `${isGuess ? '≈ ' : ''}${words.common.tokens(nTokens)}`;
  const isTooLong = nCtx !== undefined && nTokens >= nCtx;
  return (
    <p class={`length ${isTooLong ? 'problem' : 'muted'}`} role="status">
      {isTooLong ? words.composer.tooLong(shown, count(nCtx)) : shown}
    </p>
  );
}
