// A button that opens a menu (ARIA Authoring Practices, "Menu Button"): arrows, Home and End move, Enter chooses, Esc and
// a click elsewhere close.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface MenuItem {
  label: string;
  detail?: string;
  checked?: boolean; // given: one of several to choose from
  run: () => void;
}

const kEdgePx = 8;

interface Props {
  label: string;
  class: string; // of the button; "icon-button": it shows no text, so the label is its name
  items: MenuItem[];
  children: ComponentChildren; // of the button
}

export function Menu({ label, class: name, items, children }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => {
    setOpen(false);
    box.current?.querySelector<HTMLElement>('button')?.focus();
  };
  useClickOutside(box, open, () => setOpen(false));
  useLayoutEffect(() => {
    if (!open) return;
    keepInView(box.current!.querySelector<HTMLElement>('.popup')!);
    const all = itemsIn(box.current!);
    (all.find((item) => item.getAttribute('aria-checked') === 'true') ?? all[0])?.focus();
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && open) close();
    else if (event.key === 'Tab') return setOpen(false);
    else if (!open && event.key === 'ArrowDown') setOpen(true);
    else if (!open || !move(box.current!, event.key)) return;
    event.preventDefault();
  };
  const choose = (item: MenuItem) => {
    close();
    item.run();
  };
  return (
    <div class="menu" ref={box} onKeyDown={onKeyDown}>
      <button type="button" class={name} aria-label={name === 'icon-button' ? label : undefined} title={label} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}>
        {children}
      </button>
      {open && (
        <div class="popup" role="menu" id={id} aria-label={label}>
          {items.map((item) => (
            <Item key={item.label} item={item} choose={() => choose(item)} />
          ))}
        </div>
      )}
    </div>
  );
}

function Item({ item: { label, detail, checked }, choose }: { item: MenuItem; choose: () => void }) {
  return (
    <button type="button" role={checked === undefined ? 'menuitem' : 'menuitemradio'} aria-checked={checked} tabIndex={-1} onClick={choose}>
      <span>{label}</span>
      {detail && <small>{detail}</small>}
    </button>
  );
}

// A popup begins at its button, and is moved where it would end beyond the window.
function keepInView(popup: HTMLElement): void {
  const { right, bottom } = popup.getBoundingClientRect();
  popup.style.translate = `${Math.min(0, innerWidth - kEdgePx - right)}px ${Math.min(0, innerHeight - kEdgePx - bottom)}px`;
}

const itemsIn = (box: HTMLElement) => [...box.querySelectorAll<HTMLElement>('[role^=menuitem]')];

// Returns whether the key moves in a menu.
function move(box: HTMLElement, key: string): boolean {
  const items = itemsIn(box);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const targets: Record<string, number> = { ArrowDown: (at + 1) % items.length, ArrowUp: (Math.max(at, 0) + items.length - 1) % items.length, Home: 0, End: items.length - 1 };
  const target = targets[key];
  if (target === undefined) return false;
  items[target]?.focus();
  return true;
}

function useClickOutside(box: { current: HTMLElement | null }, active: boolean, close: () => void): void {
  useEffect(() => {
    if (!active) return;
    const onPointerDown = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) close();
    };
    document.addEventListener('pointerdown', onPointerDown);
    return () => document.removeEventListener('pointerdown', onPointerDown);
  }, [active]);
}
