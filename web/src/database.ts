// Conversations in IndexedDB, one record each.
import type { Conversation } from './conversation.ts';

const kStore = 'conversations';

let opened: Promise<IDBDatabase> | undefined;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('realizar', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(kStore, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

// Runs one request and resolves when its transaction is on disk: a full disk shows only then.
async function run<T>(mode: IDBTransactionMode, start: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(kStore, mode);
    const request = start(transaction.objectStore(kStore));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(transaction.error ?? request.error);
  });
}

export const loadConversations = () => run<Conversation[]>('readonly', (store) => store.getAll());
export const loadConversation = (id: string) => run<Conversation | undefined>('readonly', (store) => store.get(id));
export const saveConversation = (conversation: Conversation) => run('readwrite', (store) => store.put(conversation));
export const deleteConversation = (id: string) => run('readwrite', (store) => store.delete(id));
