import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { type InstancePaths, pathsOf } from '../../config/index.ts';
import { type Clock, Fault, ok, refuse, type Result, systemClock, toRfc3339 } from '../../kernel/index.ts';
import { shellLine } from '../../forge/index.ts';
import { endLivingRuns, findLivingRuns, revokeTokens } from '../../sessions/index.ts';
import { acquireInstanceLock, openStore, type Store, verifyStore } from '../../store/index.ts';
import { verifyPassphrase } from '../access/users.ts';
import { listOwners, removeOwner } from '../notify/owners.ts';
import { syncFolder } from './copy-file.ts';
import { type BackupManifest, damaged, databaseName } from './manifest.ts';
import { readManifest, stageBackup } from './stage-backup.ts';

/** What is put back, where, and on whose word. */
export interface RestoreRequest {
  from: string;
  paths: InstancePaths;
  passphrase: string;
  /** Default: the only operator in the backup. */
  operator?: string | undefined;
  /** Ends agents of the present home that still live, instead of refusing. */
  stopAgents: boolean;
  /** Told what to do should this process die now. */
  say(text: string): void;
  clock?: Clock;
}

/** What a restore did. */
export interface Restored {
  home: string;
  backup: { path: string; createdAt: string; version: string; head: { seq: number; hash: string } };
  /** Where the home of before lies now. */
  aside: string | null;
  /** How the home of before is taken back. */
  undo: string | null;
  /** Sessions that lived when the backup was made; the next start ends them. */
  endedSessions: number;
  /** Telegram users that the backup had on the owner list. None of them decides any more until an operator adds it again. */
  formerOwners: { telegramId: string; operator: string }[];
  /** Everyone who may log in as an operator now, as the backup had it. */
  operators: string[];
}

/** What became void with a restore, and who may still decide. */
type Voided = Pick<Restored, 'endedSessions' | 'formerOwners' | 'operators'>;

/**
 * Puts a backup back (design section 5): everything is checked and made ready beside the home, then two renames exchange them; the
 * home of before is kept under another name. Refuses `home_held` while a server holds the home, `agents_alive`, what `readManifest` and
 * `stageBackup` refuse, `backup_by_database`, and `wrong_passphrase`. Nothing of the home is touched before the renames.
 */
export async function restoreHome(request: RestoreRequest): Promise<Result<Restored>> {
  const manifest = await readManifest(request.from);
  if (!manifest.ok) return manifest;
  if (manifest.value.database !== 'sqlite') {
    return refuse(
      'wrong-state',
      'backup_by_database',
      'The database of this backup is PostgreSQL: put it back with pg_restore, and the folders by hand (docs/guide/postgresql.md).',
    );
  }
  const wasThere = existsSync(request.paths.home);
  const lock = acquireInstanceLock(request.paths);
  if (!lock.held)
    return refuse(
      'held',
      'home_held',
      `A server (pid ${lock.winner?.pid ?? '?'}) or another restore holds ${request.paths.home}: end it with "chantier down --stop-agents" first.`,
    );
  try {
    return await restoreHeld(request, manifest.value);
  } finally {
    lock.release();
    if (!wasThere) await removeBare(request.paths.home);
  }
}

/** Takes away the home that only the lock had made: an old one may have to come back to its place. */
async function removeBare(home: string): Promise<void> {
  if (!(await readdir(home)).every((name) => ownFiles.includes(name))) return;
  await rm(home, { recursive: true, force: true });
}

/** What the lock itself makes in a home. */
const ownFiles: readonly string[] = ['lock.db', 'lock.db-journal', 'server.json'];

async function restoreHeld(request: RestoreRequest, manifest: BackupManifest): Promise<Result<Restored>> {
  const clock = request.clock ?? systemClock;
  const home = await realpath(request.paths.home);
  const stamp = toRfc3339(clock.now()).replaceAll(/[:.]/g, '-');
  const staging = `${home}${stagingMark}${stamp}`;
  await clearStagings(home);
  await mkdir(staging, { mode: 0o700 });
  try {
    const staged = await stageBackup(request.from, manifest, staging);
    if (!staged.ok) return staged;
    const checked = await checkStaged(staging, manifest, request, clock);
    if (!checked.ok) return checked;
    const calm = await calmAgents(request);
    if (!calm.ok) return calm;
    const aside = await exchange(home, staging, `${home}.before-restore-${stamp}`, request);
    const { createdAt, version, head } = manifest;
    return ok({
      home: request.paths.home,
      backup: { path: request.from, createdAt, version, head },
      aside,
      undo:
        aside === null
          ? null
          : `${shellLine(['mv', home, `${home}.undone-${stamp}`])} && ${shellLine(['mv', aside, home])}`,
      ...checked.value,
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const stagingMark = '.restoring-';

/** The lock of the home is ours: whatever still lies there was left by a restore that died. */
async function clearStagings(home: string): Promise<void> {
  const own = `${basename(home)}${stagingMark}`;
  for (const name of await readdir(dirname(home)))
    if (name.startsWith(own)) await rm(join(dirname(home), name), { recursive: true, force: true });
}

/** Opens the copy (and migrates it, with a copy of its own), checks the log, asks for the proof, and writes down what happened. */
async function checkStaged(
  staging: string,
  manifest: BackupManifest,
  request: RestoreRequest,
  clock: Clock,
): Promise<Result<Voided>> {
  const store = await openStore({ home: pathsOf(staging) }, { clock }).catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'database_newer') return error;
    throw error;
  });
  if (store instanceof Fault) return refuse('wrong-state', 'database_newer', store.message);
  try {
    const chain = await verifyStore(
      store,
      [manifest.head].filter(({ seq }) => seq > 0),
    );
    if (!chain.ok) return damaged(join(request.from, databaseName), `has a broken log (${chain.message})`);
    if (chain.head.seq !== manifest.head.seq)
      return damaged(join(request.from, databaseName), `has ${chain.head.seq} events instead of ${manifest.head.seq}`);
    const who = await verifyPassphrase(store, {
      name: request.operator,
      passphrase: request.passphrase,
      way: 'restore',
    });
    if (!who.ok) return who;
    if (who.value.role !== 'operator')
      return refuse('not-permitted', 'not_an_operator', `${who.value.name} is no operator: only an operator restores.`);
    return ok(await writeDown(store, manifest, who.value.id));
  } finally {
    await store.close();
  }
}

/**
 * Everything that could speak for a human or an agent of before is void, and so is the owner list of Telegram: whoever was taken off it
 * after the backup would decide again, and nothing in the backup tells who that is. The event stands in the same transaction.
 */
async function writeDown(store: Store, manifest: BackupManifest, operatorId: string): Promise<Voided> {
  const actor = { kind: 'operator', id: operatorId, channel: 'terminal' } as const;
  return store.tx(async (tx) => {
    await tx.db.updateTable('unlock').set({ ended_at: tx.now }).where('ended_at', 'is', null).execute();
    await tx.db.updateTable('console_session').set({ ended_at: tx.now }).where('ended_at', 'is', null).execute();
    await tx.db.deleteFrom('proof').execute();
    await tx.db.deleteFrom('first_run').execute();
    const living = await revokeTokens(tx);
    await tx.emit({
      kind: 'instance.restored',
      actor,
      subject: { kind: 'instance', id: 'instance' },
      facts: { head: manifest.head.seq, files: manifest.files.length },
    });
    const owners = await listOwners(tx.db);
    for (const { telegram_id: id } of await tx.db.selectFrom('telegram_owner').select('telegram_id').execute())
      await removeOwner(tx, id, actor);
    const users = await tx.db
      .selectFrom('user_account')
      .select('name')
      .where('role', '=', 'operator')
      .where('disabled_at', 'is', null)
      .orderBy('name')
      .execute();
    return {
      endedSessions: living,
      formerOwners: owners.map(({ telegramId, name }) => ({ telegramId, operator: name })),
      operators: users.map(({ name }) => name),
    };
  });
}

async function calmAgents({ paths, stopAgents }: RestoreRequest): Promise<Result<undefined>> {
  const living = await findLivingRuns(paths.sessions);
  if (living.length === 0) return ok();
  if (stopAgents) {
    await endLivingRuns(paths.sessions);
    return ok();
  }
  return refuse(
    'wrong-state',
    'agents_alive',
    `${living.length} agents of this home still work (pid ${living.map(({ pid }) => pid).join(', ')}): end them with "chantier down --stop-agents", or give --stop-agents here (what they have not committed stays in their work folders).`,
    { pids: living.map(({ pid }) => pid) },
  );
}

/** Two renames; a home that holds nothing is replaced without being kept. Gives where the old one lies. */
async function exchange(home: string, staging: string, aside: string, request: RestoreRequest): Promise<string | null> {
  const isEmpty = (await readdir(home)).every((name) => ownFiles.includes(name));
  if (isEmpty) {
    for (const name of ownFiles) await rm(join(home, name), { force: true });
    await rename(staging, home);
    await syncFolder(dirname(home));
    return null;
  }
  request.say(
    `Should this be interrupted now, one command takes the home of before back:\n  ${shellLine(['mv', aside, home])}`,
  );
  const marker = interruptedMarker(request.paths.home);
  await writeFile(marker, `${aside}\n`, { mode: 0o600 });
  await rename(home, aside);
  try {
    await rename(staging, home);
  } catch (error) {
    await rename(aside, home).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(home));
  await rm(join(aside, 'server.json'), { force: true });
  await rm(marker, { force: true });
  return aside;
}

/** The file that names the home of before while the two are being exchanged; it lies beside the home. */
function interruptedMarker(home: string): string {
  return `${home}.restore-interrupted`;
}

/**
 * The one command that takes the home of before back, when a restore died between its two renames; else nothing. Whoever would make
 * a new home asks this first.
 */
export function readInterruptedRestore(paths: InstancePaths): string | undefined {
  if (existsSync(paths.database)) return undefined;
  try {
    const aside = readFileSync(interruptedMarker(paths.home), 'utf8').trim();
    return existsSync(aside) ? shellLine(['mv', aside, paths.home]) : undefined;
  } catch {
    return undefined;
  }
}
