/** Back-off of steps that failed, by session: 1 s, doubled up to 1 min; forgotten after a success. */
export interface Retries {
  /** Notes a failure; gives after how many ms the step may be tried again. */
  failed(id: string): number;
  succeeded(id: string): void;
  /** How often it has failed in a row. */
  count(id: string): number;
  isWaiting(id: string): boolean;
}

const firstMs = 1_000;
const longestMs = 60_000;

export function createRetries(now: () => number = () => performance.now()): Retries {
  const known = new Map<string, { count: number; notBefore: number }>();
  const count = (id: string): number => known.get(id)?.count ?? 0;
  return {
    count,
    failed(id) {
      const ms = Math.min(longestMs, firstMs * 2 ** count(id));
      known.set(id, { count: count(id) + 1, notBefore: now() + ms });
      return ms;
    },
    succeeded: (id) => void known.delete(id),
    isWaiting: (id) => (known.get(id)?.notBefore ?? 0) > now(),
  };
}
