// Line icons on a 24 by 24 grid.
const kPaths = {
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 13l4 4L19 7',
  edit: 'M5 19h3L19 8l-3-3L5 16zM14 7l3 3',
  again: 'M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  sliders: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  wrap: 'M4 7h16M4 12h12a3 3 0 0 1 0 6h-4M14 15l-3 3 3 3M4 18h4',
  chart: 'M5 20V11M12 20V4M19 20v-6',
  box: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  chat: 'M5 5h14v11H11l-4 4v-4H5z',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  more: 'M5.5 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0M11.4 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0M17.3 12a.6.6 0 1 0 1.2 0 .6.6 0 1 0-1.2 0',
  expand: 'M7 10l5 5 5-5',
  attach: 'M18.5 11.5l-6.8 6.8a4 4 0 0 1-5.7-5.7l7.2-7.2a2.7 2.7 0 0 1 3.8 3.8l-7.1 7.1a1.3 1.3 0 0 1-1.9-1.9l6.3-6.3',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 3v1M12 20v1M3 12h1M20 12h1M5.6 5.6l.7.7M17.7 17.7l.7.7M5.6 18.4l.7-.7M17.7 6.3l.7-.7',
  moon: 'M19 14.5A7.5 7.5 0 0 1 9.5 5 7.5 7.5 0 1 0 19 14.5',
  auto: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 4v16',
} as const;

export type IconName = keyof typeof kPaths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={kPaths[name]} />
    </svg>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick?: () => void;
  disabled?: boolean;
  class?: string;
  pressed?: boolean;
}

export function IconButton({ icon, label, onClick, disabled, class: name = '', pressed }: IconButtonProps) {
  return (
    <button type="button" class={`icon-button ${name}`} aria-label={label} title={label} aria-pressed={pressed} onClick={onClick} disabled={disabled}>
      <Icon name={icon} />
    </button>
  );
}

export function IconLink({ icon, label, href }: { icon: IconName; label: string; href: string }) {
  return (
    <a class="icon-button" href={href} aria-label={label} title={label}>
      <Icon name={icon} />
    </a>
  );
}
