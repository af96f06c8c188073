// Messages far from the view are rendered later: when they come near, and otherwise one by one while the page has nothing
// else to do, from the end. In the end all of it is there, for find-in-page and for printing.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const kNearPx = 1_500;
const kSliceMs = 8;
const kPauseMs = 16; // between slices, for the browser to paint and to take input
const kAtOnceMs = 50; // of one task, for what is rendered without waiting

const waiting = new Map<Element, { show: () => void; observer: IntersectionObserver }>();
const urgent = new Set<Element>(); // of these: near the view
const observers = new WeakMap<Element, IntersectionObserver>(); // by scroller
let timer = 0;

// `ref` is for the element, whose content is to be rendered once `near` is true. `atOnce`: it need not wait, if there is
// time.
export function useNear<T extends Element>(atOnce: boolean) {
  const ref = useRef<T>(null);
  const [near, setNear] = useState(() => atOnce && hasTime());
  useLayoutEffect(() => (near ? undefined : wait(ref.current!, () => setNear(true))), []);
  return { ref, near };
}

function wait(element: Element, show: () => void): () => void {
  const observer = observerOf(element.closest('.scroll') ?? document.documentElement);
  waiting.set(element, { show, observer });
  observer.observe(element);
  timer ||= window.setTimeout(slice, kPauseMs);
  return () => forget(element);
}

function observerOf(scroller: Element): IntersectionObserver {
  const known = observers.get(scroller);
  if (known) return known;
  const onChange = (entries: IntersectionObserverEntry[]) => {
    for (const { isIntersecting, target } of entries) {
      if (!waiting.has(target)) continue;
      if (isIntersecting) urgent.add(target);
      else urgent.delete(target);
    }
    if (urgent.size > 0) void slice();
  };
  const observer = new IntersectionObserver(onChange, { root: scroller, rootMargin: `${kNearPx}px 0px` });
  observers.set(scroller, observer);
  return observer;
}

function show(element: Element): void {
  const found = waiting.get(element);
  forget(element);
  found?.show();
}

function forget(element: Element): void {
  waiting.get(element)?.observer.unobserve(element);
  waiting.delete(element);
  urgent.delete(element);
}

// Preact renders in a microtask, so that one has passed before the time is looked at.
async function slice(): Promise<void> {
  clearTimeout(timer);
  const end = performance.now() + kSliceMs;
  do {
    const next = lastOf(urgent) ?? lastOf(waiting.keys());
    if (next) show(next);
    await Promise.resolve();
  } while (waiting.size > 0 && performance.now() < end);
  timer = waiting.size > 0 ? window.setTimeout(slice, kPauseMs) : 0;
}

function lastOf(elements: Iterable<Element>): Element | undefined {
  let last: Element | undefined;
  for (const element of elements) last = element;
  return last;
}

let taskStart = 0;

function hasTime(): boolean {
  if (taskStart === 0) {
    taskStart = performance.now();
    setTimeout(() => void (taskStart = 0));
  }
  return performance.now() - taskStart < kAtOnceMs;
}

// Paper has all of it: what is rendered brings more that waits.
addEventListener('beforeprint', () => {
  const all = () => {
    if (waiting.size === 0) return;
    for (const element of [...waiting.keys()]) show(element);
    queueMicrotask(() => queueMicrotask(all));
  };
  all();
});
