import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

interface Props {
  label: string;
  class?: string;
  accept?: string;
  multiple?: boolean;
  choose: (files: File[]) => void;
  children: ComponentChildren;
}

// A button that asks for files.
export function FileButton({ label, class: name = 'icon-button', accept, multiple, choose, children }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const onChange = () => {
    const files = Array.from(input.current!.files ?? []);
    input.current!.value = ''; // so that the same file can be chosen again
    choose(files);
  };
  return (
    <>
      <button type="button" class={name} aria-label={label} title={label} onClick={() => input.current!.click()}>
        {children}
      </button>
      <input ref={input} type="file" hidden aria-label={label} accept={accept} multiple={multiple} onChange={onChange} />
    </>
  );
}
