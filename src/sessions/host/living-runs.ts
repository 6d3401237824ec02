import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { systemClock } from '../../kernel/index.ts';
import { filesOf, type ProcessRecord } from './generation-files.ts';
import { openGeneration } from './generation.ts';
import { bootId, isAlive } from './process-identity.ts';

/** A generation whose agent lives. */
export interface LivingRun {
  folder: string;
  pid: number;
}

/** Agents whose processes live, as the folders of their generations say; looks at no store and changes nothing. */
export async function findLivingRuns(sessionsFolder: string): Promise<LivingRun[]> {
  const living: LivingRun[] = [];
  for (const sessionId of await list(sessionsFolder)) {
    for (const generation of await list(join(sessionsFolder, sessionId))) {
      const record = await readRecord(filesOf(join(sessionsFolder, sessionId, generation)).pid);
      if (record?.bootId === bootId() && isAlive(record.agent))
        living.push({ folder: join(sessionsFolder, sessionId, generation), pid: record.agent.pid });
    }
  }
  return living;
}

/** Ends them as a stop does, with everything that belongs to them; for a home that no server holds. */
export async function endLivingRuns(sessionsFolder: string): Promise<void> {
  for (const { folder } of await findLivingRuns(sessionsFolder)) {
    const generation = await openGeneration(folder, { clock: systemClock });
    if (!generation.ok) continue;
    await generation.value.stop();
    await generation.value.close();
  }
}

async function readRecord(file: string): Promise<ProcessRecord | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessRecord;
  } catch {
    return undefined; // never started, or torn: nothing is known of a process
  }
}

function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
