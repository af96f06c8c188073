import { useEffect, useRef } from 'preact/hooks';
import { attach, filesOf } from '../attachments.ts';
import { send, stop } from '../chat.ts';
import { type Draft, draftOf, forgetDraft, setDraft, useDraft } from '../drafts.ts';
import { useStore } from '../store.ts';
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

  useEffect(() => void focus(), [activeId, draft.files.length]);
  useEffect(() => fit(area.current!), [draft.text]);

  const submit = () => {
    // What was typed last may not have been rendered yet.
    const { text, files } = draftOf(activeId);
    if (running || isNothing({ text, files })) return;
    forgetDraft(activeId);
    send(text.trim(), files);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!enterSends(event)) return;
    event.preventDefault();
    submit();
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
      <div class="row">
        <FileButton label="Attach text files" multiple choose={(files) => void attach(files)}>
          <Icon name="attach" />
        </FileButton>
        <textarea
          ref={area}
          id="message"
          rows={1}
          placeholder="Ask anything"
          aria-label="Message"
          value={draft.text}
          onInput={(event) => setDraft(activeId, { text: event.currentTarget.value })}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <button type="submit" class="send" aria-label={running ? 'Stop' : 'Send'} title={running ? 'Stop (Esc)' : 'Send (Enter)'} disabled={!running && isEmpty}>
          <Icon name={running ? 'stop' : 'send'} />
        </button>
      </div>
    </form>
  );
}
