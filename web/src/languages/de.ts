// Die Seite auf Deutsch.
import type { Words } from '../words.ts';

const count = (n: number, one: string, several: string) => `${n.toLocaleString('de-DE')} ${n === 1 ? one : several}`;

const words: Words = {
  language: 'de',
  locale: 'de-DE',
  common: {
    cancel: 'Abbrechen',
    close: 'Schließen',
    retry: 'Noch einmal',
    undo: 'Rückgängig',
    chats: (n) => count(n, 'Chat', 'Chats'),
  },
};
export default words;
