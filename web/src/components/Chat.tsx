import { Fragment } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { branch, type Conversation, type Message } from '../conversation.ts';
import { activeSettings, modelOf, useStore } from '../store.ts';
import { words } from '../words.ts';
import { Composer } from './Composer.tsx';
import { IconButton } from './Icon.tsx';
import { MessageView } from './MessageView.tsx';
import { Welcome } from './Welcome.tsx';

const kNearBottomPx = 48;
const kMoves = ['wheel', 'touchmove', 'pointerdown', 'keydown'];
const kMoveMs = 1_000; // that the view goes on moving after one of these
const kAtOnce = 4; // messages at the end, where a chat is opened

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
  const versions = versionsOf(active);
  const { scroller, atBottom, toBottom } = useStickyScroll(active.leaf);
  const system = active.settings.system?.trim();
  return (
    <>
      <div class="scroll" ref={scroller} tabIndex={0}>
        <section class="column messages" aria-label={words.answers.conversation}>
          <h1 class="visually-hidden">{active.title}</h1>
          {system && (
            <details class="system">
              <summary>{words.answers.systemPrompt}</summary>
              <p>{system}</p>
            </details>
          )}
          {messages.map((message, idx) => (
            <Fragment key={message.id}>
              {idx > 0 && idx === active.nLeftOut && <p class="left-out">{words.answers.leftOut}</p>}
              <MessageView
                conversation={active}
                message={message}
                version={versions.get(message.id)!.version}
                nVersions={versions.get(message.id)!.all.length}
                running={running}
                isLast={idx === messages.length - 1}
                atOnce={idx >= messages.length - kAtOnce}
                contextLength={contextLength}
              />
            </Fragment>
          ))}
        </section>
      </div>
      <div class="to-bottom">{!atBottom && <IconButton icon="down" label={words.answers.toEnd} onClick={toBottom} />}</div>
      <p class="visually-hidden" role="status">
        {statusOf(messages.at(-1), running)}
      </p>
    </>
  );
}

function statusOf(last: Message | undefined, running: boolean): string {
  if (last?.calls?.some(({ state }) => state === 'asked')) return words.answers.callWaits;
  if (running) return words.answers.answering;
  return last?.status === 'done' ? words.answers.complete : '';
}

// For each message: the versions of its turn, and which it is.
function versionsOf({ messages }: Conversation): Map<string, { version: number; all: Message[] }> {
  const turns = new Map<string, Message[]>();
  const versions = new Map<string, { version: number; all: Message[] }>();
  for (const message of messages) {
    const turn = `${message.parent} ${message.role}`;
    const all = turns.get(turn) ?? [];
    turns.set(turn, all);
    versions.set(message.id, { version: all.length, all });
    all.push(message);
  }
  return versions;
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
    let lastHeight = 0;
    let movedAt = -Infinity;
    const onMove = () => void (movedAt = performance.now());
    // Text that grows also moves the end away; only the user moves the view up. Messages that come into view are often
    // less high than was expected, and the browser then moves the view with them.
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      const isNear = scrollHeight - scrollTop - clientHeight < kNearBottomPx;
      const isUser = scrollHeight >= lastHeight || performance.now() - movedAt < kMoveMs;
      if (isNear) stick.current = true;
      else if (scrollTop < lastTop && isUser) stick.current = false;
      lastTop = scrollTop;
      lastHeight = scrollHeight;
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
    for (const name of kMoves) element.addEventListener(name, onMove, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      for (const name of kMoves) element.removeEventListener(name, onMove);
    };
  }, []);
  useLayoutEffect(toBottom, [leaf]);
  return { scroller, atBottom, toBottom };
}
