/** For each blocked item, what it waits for. */
export type Blockers = ReadonlyMap<string, readonly string[]>;

/** Most items that may wait for one another in a row (L-28). */
export const maxChain = 100;

/**
 * How deep each item lies: 1 without blockers, else one more than its deepest blocker; `cycle` names the items of a circle
 * when there is one. Each item is visited once, however many ways lead to it.
 */
export function depths(blockers: Blockers): { depth: Map<string, number> } | { cycle: string[] } {
  const depth = new Map<string, number>();
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const [blocked, list] of blockers) {
    waiting.set(blocked, list.length);
    for (const blocker of list) {
      const known = dependents.get(blocker);
      if (known) known.push(blocked);
      else dependents.set(blocker, [blocked]);
      if (!blockers.has(blocker)) waiting.set(blocker, 0);
    }
  }
  const ready = [...waiting].filter(([, count]) => count === 0).map(([item]) => item);
  for (const item of ready) depth.set(item, 1);
  for (let next = 0; next < ready.length; next++) {
    const item = ready[next] as string;
    const below = (depth.get(item) ?? 1) + 1;
    for (const dependent of dependents.get(item) ?? []) {
      depth.set(dependent, Math.max(depth.get(dependent) ?? 1, below));
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) ready.push(dependent);
    }
  }
  if (ready.length === waiting.size) return { depth };
  return { cycle: findCycle(blockers, new Set(ready)) };
}

/** The way from `from` up to `to` along blockers, both included; `undefined` when there is none. */
export function findPath(blockers: Blockers, from: string, to: string): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[from, undefined]]);
  const queue = [from];
  for (const item of queue) {
    if (item === to) {
      const path: string[] = [];
      for (let at: string | undefined = to; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
      return path;
    }
    for (const blocker of blockers.get(item) ?? []) {
      if (cameFrom.has(blocker)) continue;
      cameFrom.set(blocker, item);
      queue.push(blocker);
    }
  }
  return undefined;
}

/** Among items that are not `settled`, each waits for another one that is not: walking up must come round. */
function findCycle(blockers: Blockers, settled: ReadonlySet<string>): string[] {
  const start = [...blockers.keys()].find((item) => !settled.has(item));
  const seen = new Map<string, number>();
  const walk: string[] = [];
  for (let at = start; at !== undefined; at = (blockers.get(at) ?? []).find((item) => !settled.has(item))) {
    const before = seen.get(at);
    if (before !== undefined) return walk.slice(before);
    seen.set(at, walk.length);
    walk.push(at);
  }
  return walk;
}
