import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { findSystemProgram } from './find-programs.ts';

export interface Owner {
  uid: number;
  gid: number;
}

/** The first uid tried for the sandboxes of a root server; high, and outside what systems give to people and services. */
const firstOwnerUid = 64_500;

/** A uid that no account of this machine has, from 64500 on. The same on each start, as long as nobody takes it. */
export function chooseOwner(): Owner {
  const taken = new Set(readLines('/etc/passwd').map((line) => Number(line.split(':')[2])));
  let uid = firstOwnerUid;
  while (taken.has(uid)) uid += 1;
  return { uid, gid: uid };
}

/** Gives folders and all below them to the sandbox's user; follows no link. Call it before anything runs in them. */
export async function giveToOwner(owner: Owner | undefined, paths: readonly string[]): Promise<void> {
  if (!owner || paths.length === 0) return;
  const chown = findSystemProgram('chown');
  if (!chown) throw new Error('this system has no chown');
  await promisify(execFile)(chown, ['-R', '-h', '-P', `${owner.uid}:${owner.gid}`, '--', ...paths], { env: {} });
}

/** The prefix that turns root into `owner` for good, without any capability left to come back. */
export function becomeOwner(setpriv: string, { uid, gid }: Owner): string[] {
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  return [setpriv, ...ids, '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'];
}

/**
 * Writes passwd and group files for inside into `folder`: the machine's own, with the sandbox's user as `agent` and its
 * private home (programs that ask for the user's entry, or for `~agent`, find a true one).
 */
export async function writeAccounts(folder: string, { uid, gid }: Owner, home: string) {
  const passwd = readLines('/etc/passwd').filter((line) => Number(line.split(':')[2]) !== uid);
  const group = readLines('/etc/group').filter((line) => Number(line.split(':')[2]) !== gid);
  const shell = findSystemProgram('bash') ?? '/bin/sh';
  const passwdFile = join(folder, 'passwd');
  const groupFile = join(folder, 'group');
  await writeReadable(passwdFile, [...passwd, `agent:x:${uid}:${gid}:agent:${home}:${shell}`]);
  await writeReadable(groupFile, [...group, `agent:x:${gid}:`]);
  return [
    { outside: passwdFile, inside: '/etc/passwd' },
    { outside: groupFile, inside: '/etc/group' },
  ];
}

async function writeReadable(path: string, lines: readonly string[]): Promise<void> {
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o644 });
  await chmod(path, 0o644); // whatever the umask took away: inside, it is another user's file
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
