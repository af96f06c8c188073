// Tasks that no two tabs of this page may do at once.
const kPrefix = 'realizar answer ';

// Runs `task` once no other tab writes an answer of that conversation. Plain http outside localhost has no locks; there it
// runs at once.
export async function alone(conversationId: string, task: () => Promise<void>): Promise<void> {
  if (!navigator.locks) return task();
  await navigator.locks.request(kPrefix + conversationId, task);
}
