import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { toFault } from './faults.ts';

/** The files of the lock, as `pathsOf(home)` gives them. */
export interface LockPaths {
  home: string;
  /** `lock.db` */
  lock: string;
  /** `server.json` */
  server: string;
}

/** What a running server says about itself in `server.json`. */
export interface RunningServer {
  pid: number;
  /** `http://127.0.0.1:4747`; empty until it listens. */
  address: string;
  /** Kernel boot id; a pid of another boot is nobody. */
  boot: string;
}

/** Either we are the one server of this home, or somebody else is. */
export type InstanceLock =
  | {
      held: true;
      /** Tells the others where we are; replaces the file by rename. */
      announce(address: string): void;
      /** Gives the home free and removes `server.json`; safe twice. */
      release(): void;
    }
  | {
      held: false;
      /** The winner, unless it has not announced itself yet. */
      winner: RunningServer | undefined;
    };

/**
 * Takes the home for this process: an exclusive SQLite transaction on `lock.db`, which the system ends with the process
 * however it dies. Throws `Fault` `database_read_only` or `disk_full` when the home cannot be written.
 */
export function acquireInstanceLock(paths: LockPaths): InstanceLock {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(paths.home, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(paths.lock, { timeout: 0 });
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const primary = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
    if (primary === busy) return { held: false, winner: readRunningServer(paths) };
    throw toFault(error, paths.lock);
  }
  return holding(database, paths);
}

const busy = 5;

function holding(database: DatabaseSync, paths: LockPaths): InstanceLock {
  const write = (address: string): void => {
    const server: RunningServer = { pid: process.pid, address, boot: bootId() };
    const draft = `${paths.server}.${process.pid}`;
    try {
      writeFileSync(draft, `${JSON.stringify(server)}\n`, { mode: 0o600 });
      renameSync(draft, paths.server);
    } catch (error) {
      throw toFault(error, paths.server);
    }
  };
  try {
    write('');
  } catch (error) {
    database.close();
    throw error;
  }
  let held = true;
  return {
    held: true,
    announce: write,
    release() {
      if (!held) return;
      held = false;
      rmSync(paths.server, { force: true });
      database.close();
    },
  };
}

/** What `server.json` says; `undefined` when there is none. Whether that server lives, the lock alone tells. */
export function readRunningServer(paths: Pick<LockPaths, 'server'>): RunningServer | undefined {
  try {
    const { pid, address, boot } = JSON.parse(readFileSync(paths.server, 'utf8')) as RunningServer;
    return Number.isInteger(pid) && typeof address === 'string' ? { pid, address, boot } : undefined;
  } catch {
    return undefined;
  }
}

/** Names the current run of the kernel; empty where the system has no such name. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
