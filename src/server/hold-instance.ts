import { mkdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import type { InstancePaths } from '../config/index.ts';
import { Fault } from '../kernel/index.ts';

/** The right to be the one server of a home; ends with the process, however it ends. */
export interface InstanceHold {
  release(): void;
}

/**
 * Takes the home for this process by an exclusive transaction on `lock.db` (design 5 "Single instance"); `undefined` when
 * another process has it. Makes the home (mode 0700). Throws `Fault` `home_not_writable`.
 */
export function holdInstance(paths: InstancePaths): InstanceHold | undefined {
  try {
    mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw homeFault(paths.home, error);
  }
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(paths.lock, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (/database is locked/i.test((error as Error).message)) return undefined;
    throw homeFault(paths.home, error);
  }
  const held = database;
  return {
    release() {
      if (!held.isOpen) return;
      held.exec('ROLLBACK');
      held.close();
    },
  };
}

function homeFault(home: string, cause: unknown): Fault {
  const { message } = cause as Error;
  return new Fault(
    'home_not_writable',
    `Chantier cannot write its home ${home} (${message}): make it writable, free disk space, or set CHANTIER_HOME.`,
    { cause },
  );
}
