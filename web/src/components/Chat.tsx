import { Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { branch, type Conversation } from '../conversation.ts';
import { activeSettings, modelOf, useStore } from '../store.ts';
import { Composer } from './Composer.tsx';
import { IconButton } from './Icon.tsx';
import { MessageView } from './MessageView.tsx';
import { Welcome } from './Welcome.tsx';

const kNearBottomPx = 48;

export function Chat() {
  const active = useStore((state) => state.conversations.find((each) => each.id === state.activeId));
  return (
    <main class="chat">
      {active ? <Messages key={active.id} active={active} /> : <Welcome />}
      <Composer />
    </main>
  );
}

function Messages({ active }: { active: Conversation }) {
  const running = useStore((state) => state.running.has(active.id));
  const contextLength = useStore((state) => modelOf(state, activeSettings(state))?.context_length);
  const messages = branch(active);
  const { scroller, atBottom, toBottom } = useStickyScroll(active.leaf);
  const system = active.settings.system?.trim();
  return (
    <>
      <div class="scroll" ref={scroller} tabIndex={0}>
        <section class="column messages" aria-label="Conversation">
          <h1 class="visually-hidden">{active.title}</h1>
          {system && (
            <details class="system">
              <summary>System prompt</summary>
              <p>{system}</p>
            </details>
          )}
          {messages.map((message, idx) => (
            <Fragment key={message.id}>
              {idx > 0 && idx === active.nLeftOut && <p class="left-out">The model no longer sees the turns above.</p>}
              <MessageView conversation={active} message={message} running={running} isLast={idx === messages.length - 1} contextLength={contextLength} />
            </Fragment>
          ))}
        </section>
      </div>
      <div class="to-bottom">{!atBottom && <IconButton icon="down" label="Go to the end" onClick={toBottom} />}</div>
      <p class="visually-hidden" role="status">
        {messages.at(-1)?.calls?.some(({ state }) => state === 'asked') ? 'A call of a tool waits for you' : running ? 'Answering' : messages.at(-1)?.status === 'done' ? 'Answer complete' : ''}
      </p>
    </>
  );
}

// Follows the text while the end is in view; scrolling up lets go, a new turn takes hold again.
function useStickyScroll(leaf: string | null) {
  const scroller = useRef<HTMLDivElement>(null);
  const stick = useRef(true);
  const [atBottom, setAtBottom] = useState(true);
  const toBottom = () => scroller.current?.scrollTo({ top: scroller.current.scrollHeight });

  useEffect(() => {
    const element = scroller.current!;
    let lastTop = 0;
    // Text that grows also moves the end away; only the user moves the view up.
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < kNearBottomPx;
      if (isNear) stick.current = true;
      else if (element.scrollTop < lastTop) stick.current = false;
      lastTop = element.scrollTop;
      setAtBottom(isNear);
    };
    const onResize = () => {
      if (stick.current) toBottom();
      else onScroll();
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(element);
    observer.observe(element.firstElementChild!);
    element.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
    };
  }, []);
  useLayoutEffect(toBottom, [leaf]);
  return { scroller, atBottom, toBottom };
}
