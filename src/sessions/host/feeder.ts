import { readFileSync, readdirSync, statSync } from 'node:fs';

import { isAlive } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

/** How far the feeder has read `inboxPath`; what it has read it has handed to the agent's pipe or is handing to it now. */
export function fedUpTo(feeder: ProcessIdentity | undefined, inboxPath: string): number | undefined {
  if (!feeder || !isAlive(feeder)) return undefined;
  const folder = `/proc/${feeder.pid}`;
  try {
    const inbox = statSync(inboxPath);
    const fd = readdirSync(`${folder}/fd`).find((name) => {
      const open = statSync(`${folder}/fd/${name}`, { throwIfNoEntry: false });
      return open?.ino === inbox.ino && open.dev === inbox.dev;
    });
    if (fd === undefined) return undefined;
    return Number(/^pos:\s+(\d+)/m.exec(readFileSync(`${folder}/fdinfo/${fd}`, 'latin1'))?.[1]);
  } catch {
    return undefined;
  }
}
