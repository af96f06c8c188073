import type { Attachment } from '../conversation.ts';
import { bytes } from '../format.ts';
import { words } from '../words.ts';
import { Icon, IconButton } from './Icon.tsx';

// The files of a turn; with `remove`, of one that is being written.
export function FileList({ files, remove }: { files: Attachment[]; remove?: (file: Attachment) => void }) {
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label={words.composer.files}>
      {files.map((file, idx) => (
        <li key={`${idx} ${file.name}`}>
          <Icon name="file" />
          <span>{file.name}</span>
          <small>{bytes(new Blob([file.text]).size)}</small>
          {remove && <IconButton icon="close" label={words.composer.remove(file.name)} onClick={() => remove(file)} />}
        </li>
      ))}
    </ul>
  );
}
