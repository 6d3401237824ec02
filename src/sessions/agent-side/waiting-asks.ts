/** How many calls of agents wait in this process for the answer of a question; such an answer needs no prompt. */
const waiting = new Map<string, number>();

/** Counts one waiting call; gives the function that ends it. */
export function startWaiting(escalationId: string): () => void {
  waiting.set(escalationId, (waiting.get(escalationId) ?? 0) + 1);
  return () => {
    const left = (waiting.get(escalationId) ?? 1) - 1;
    if (left > 0) waiting.set(escalationId, left);
    else waiting.delete(escalationId);
  };
}

/** Whether an agent's call waits for this answer now. */
export function isWaitedFor(escalationId: string): boolean {
  return waiting.has(escalationId);
}
