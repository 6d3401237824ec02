import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** What `server.json` says about the running server (design 5). */
export interface ServerFile {
  /** Address of console and API, `http://127.0.0.1:4747`. */
  url: string;
  /** The operator CLI's unix socket. */
  socket: string;
  pid: number;
  /** Boot id of the machine, so that a pid of another life is not mistaken. */
  boot: string;
  version: string;
  startedAt: string;
}

/** Writes `server.json` by rename: readers see the old one or the new one. */
export function writeServerFile(file: string, content: ServerFile): void {
  const temporary = `${file}.${process.pid}.new`;
  writeFileSync(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

/** Reads `server.json`; `undefined` when there is none or it is not ours to understand. */
export function readServerFile(file: string): ServerFile | undefined {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as ServerFile;
    return typeof content.url === 'string' && typeof content.pid === 'number' ? content : undefined;
  } catch {
    return undefined;
  }
}

/** Removes `server.json` if it is this process's. */
export function removeServerFile(file: string): void {
  if (readServerFile(file)?.pid === process.pid) rmSync(file, { force: true });
}

/** The machine's boot id; empty where there is none. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
