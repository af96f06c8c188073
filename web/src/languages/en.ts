// The page in English. Another language is a file of this form beside this one, and a line in words.ts.
const count = (n: number, one: string, several: string) => `${n.toLocaleString('en-US')} ${n === 1 ? one : several}`;

export default {
  language: 'en',
  locale: 'en-US', // of numbers, dates and times
  common: {
    cancel: 'Cancel',
    close: 'Close',
    retry: 'Retry',
    undo: 'Undo',
    chats: (n: number) => count(n, 'chat', 'chats'),
  },
};
