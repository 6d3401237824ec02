import { readdirSync, readFileSync } from 'node:fs';

import { findByRunMarker, insidePids } from '../../src/sandbox/index.ts';
import type { SessionFacts, World } from './world.ts';

/** What every process of this generation carries in its environment. */
export function runOf({ id, generation }: Pick<SessionFacts, 'id' | 'generation'>): string {
  return `${id}/${generation}`;
}

/** The pid, seen from here, of the agent itself: the command inside the sandbox of a session. */
export function agentProcess({ pid }: Pick<SessionFacts, 'pid'>): number {
  const inside = pid === null ? undefined : insidePids(pid);
  if (!inside) throw new Error(`nothing runs behind pid ${pid}`);
  return inside.command;
}

/** Waits until no process carries the generation's marker and none has `words` in its command line. */
export async function untilGone(world: World, session: SessionFacts, words: string): Promise<void> {
  await world.instance.until(
    `every process of ${runOf(session)} to be gone`,
    async () => findByRunMarker(runOf(session)).length === 0 && !commandLines().some((line) => line.includes(words)),
    15_000,
  );
}

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return ''; // it ended meanwhile
      }
    });
}
