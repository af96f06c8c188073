// Files dropped anywhere on the page are attached to the message. Left to itself the browser would leave the page for them.
import { useEffect } from 'preact/hooks';
import { attach, carriesFiles, filesOf } from '../attachments.ts';
import { getState } from '../store.ts';

export function useFileDrops(): void {
  useEffect(() => {
    addEventListener('dragover', onDragOver);
    addEventListener('drop', onDrop);
    addEventListener('dragleave', onDragLeave);
    return () => {
      removeEventListener('dragover', onDragOver);
      removeEventListener('drop', onDrop);
      removeEventListener('dragleave', onDragLeave);
    };
  }, []);
}

const show = (dragging: boolean) => document.body.classList.toggle('dragging', dragging);

function onDragOver(event: DragEvent): void {
  if (!carriesFiles(event.dataTransfer)) return;
  event.preventDefault();
  const isWanted = getState().view === 'chat';
  event.dataTransfer!.dropEffect = isWanted ? 'copy' : 'none';
  show(isWanted);
}

function onDragLeave(event: DragEvent): void {
  if (event.relatedTarget === null) show(false);
}

function onDrop(event: DragEvent): void {
  if (!carriesFiles(event.dataTransfer)) return;
  event.preventDefault();
  show(false);
  if (getState().view === 'chat') void attach(filesOf(event.dataTransfer));
}
