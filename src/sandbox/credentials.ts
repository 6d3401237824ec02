import { constants, lstatSync, readFileSync } from 'node:fs';
import { chmod, chown, copyFile, link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type AgentNeeds, type AgentProgram, agentNeeds } from './agents.ts';
import type { Owner } from './bubblewrap/owner.ts';
import type { SandboxProfile } from './profile.ts';
import { readWorkFile } from './read-work-file.ts';

export interface CredentialOptions {
  program: AgentProgram;
  operatorHome: string;
  /** Private folder of the instance for credentials; a folder for each program is made in it. */
  store: string;
  /** The session's private home. */
  privateHome: string;
  /** `sandbox.owner`, for a root server. */
  owner?: Owner;
}

/** Where the one credential file appears inside. */
const folderInside = '/run/chantier/credentials';
const maxCredentialBytes = 1024 ** 2;

/**
 * Prepares the log-in of `program` for one session and returns what to spread into its profile; nothing when the operator is
 * not logged in. Only the file with the log-in is shown, writable, so that the agent can refresh its tokens; it is the
 * operator's own file (a hard link) or, under another user, a copy that comes back when it was refreshed. The rest of the
 * program's folder is private to the session: settings, hooks and plugins that an agent leaves there never run in the
 * operator's own terminal, nor in another session.
 */
export async function prepareCredentials(
  options: CredentialOptions,
): Promise<Pick<SandboxProfile, 'credentialFolder' | 'links'>> {
  const { program, operatorHome, store, privateHome, owner } = options;
  const needs: AgentNeeds = agentNeeds[program];
  const { credentialFolder, credentialFile } = needs;
  const theirs = join(operatorHome, credentialFolder, credentialFile);
  const shared = join(store, program);
  await mkdir(shared, { recursive: true, mode: 0o700 });
  await returnCredentials(options);
  if (!isPlainFile(theirs)) return {};
  const unfinished = join(store, `.${program}.new`);
  if (isMixed(needs)) {
    const part = logInsOf(needs, readFileSync(theirs, 'utf8'));
    if (part === undefined) return {};
    await rm(unfinished, { force: true });
    await writeFile(unfinished, part, { mode: 0o600, flag: 'wx' });
    if (owner) await chown(unfinished, owner.uid, owner.gid);
    await rename(unfinished, join(shared, credentialFile));
  } else await show(theirs, join(shared, credentialFile), unfinished, owner);
  if (owner) await chown(shared, owner.uid, owner.gid);
  return {
    credentialFolder: { outside: shared, inside: folderInside },
    links: [{ path: join(privateHome, credentialFolder, credentialFile), target: join(folderInside, credentialFile) }],
  };
}

/**
 * Brings a log-in that an agent refreshed back to the operator; call it when a session has ended. A file that is no JSON
 * object, is not newer than the operator's, or belongs to a program at which the operator is not logged in, is left alone.
 */
export async function returnCredentials(
  options: Pick<CredentialOptions, 'program' | 'operatorHome' | 'store'>,
): Promise<void> {
  const needs: AgentNeeds = agentNeeds[options.program];
  const { credentialFolder, credentialFile, credentialMembers } = needs;
  if (credentialMembers) return;
  const shared = join(options.store, options.program);
  const ours = join(shared, credentialFile);
  const theirs = join(options.operatorHome, credentialFolder, credentialFile);
  if (!isPlainFile(ours) || !isPlainFile(theirs) || isSameFile(ours, theirs)) return;
  const before = lstatSync(theirs);
  if (lstatSync(ours).mtimeMs <= before.mtimeMs) return;
  // An agent could write this file: it is data, looked at before it goes to the operator.
  const read = await readWorkFile(shared, credentialFile, maxCredentialBytes);
  if (!read.ok || read.value.isTruncated || !isJsonObject(read.value.bytes.toString('utf8'))) return;
  const bytes = isMixed(needs)
    ? refreshed(needs, readFileSync(theirs, 'utf8'), read.value.bytes.toString('utf8'))
    : read.value.bytes;
  if (bytes === undefined) return;
  const unfinished = `${theirs}.chantier-new`;
  await rm(unfinished, { force: true });
  await writeFile(unfinished, bytes, { mode: before.mode & 0o777, flag: 'wx' });
  if (process.getuid?.() === 0) await chown(unfinished, before.uid, before.gid);
  await rename(unfinished, theirs);
}

/**
 * Puts the log-in into the shared folder, complete and at once. It is made beside it: in the shared folder a living agent
 * could exchange the half-made file for a link, and have another file given to its user.
 */
async function show(theirs: string, ours: string, unfinished: string, owner: Owner | undefined): Promise<void> {
  if (isSameFile(ours, theirs)) return;
  await rm(unfinished, { force: true });
  if (owner || !(await tryLink(theirs, unfinished))) {
    await copyFile(theirs, unfinished, constants.COPYFILE_EXCL);
    await chmod(unfinished, 0o600);
    if (owner) await chown(unfinished, owner.uid, owner.gid);
  }
  await rename(unfinished, ours);
}

/** A hard link works within one file system; elsewhere the file is a copy. */
async function tryLink(theirs: string, ours: string): Promise<boolean> {
  try {
    await link(theirs, ours);
    return true;
  } catch {
    return false;
  }
}

function isPlainFile(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size <= maxCredentialBytes;
}

function isSameFile(a: string, b: string): boolean {
  const [one, two] = [a, b].map((path) => lstatSync(path, { throwIfNoEntry: false, bigint: true }));
  return one !== undefined && two !== undefined && one.ino === two.ino && one.dev === two.dev;
}

/** Whether the file holds more than the log-in: then it is never shared as it is, but as a copy of the log-in alone. */
function isMixed(needs: AgentNeeds): boolean {
  return needs.credentialMembers !== undefined || needs.credentialKinds !== undefined;
}

/** The log-ins in a mixed file, as a file of their own; `undefined`: there is none. */
function logInsOf(needs: AgentNeeds, text: string): string | undefined {
  if (!isJsonObject(text)) return undefined;
  const members = Object.entries(JSON.parse(text) as object).filter(
    ([name, value]) => needs.credentialMembers?.includes(name) === true || isLogIn(needs, value),
  );
  return members.length === 0 ? undefined : JSON.stringify(Object.fromEntries(members));
}

/** The operator's file with the log-ins that it has already as the agent refreshed them, each of the kind that it was. */
function refreshed(needs: AgentNeeds, theirs: string, ours: string): string | undefined {
  if (!isJsonObject(theirs)) return undefined;
  const before = JSON.parse(theirs) as Record<string, unknown>;
  const news = JSON.parse(ours) as Record<string, unknown>;
  const after = Object.entries(before).map(([name, value]) => {
    const next = Object.hasOwn(news, name) ? news[name] : undefined;
    const isSameKind = isLogIn(needs, value) && isLogIn(needs, next) && kindOf(next) === kindOf(value);
    return [name, isSameKind ? next : value] as const;
  });
  return JSON.stringify(Object.fromEntries(after), undefined, 2);
}

function isLogIn(needs: AgentNeeds, value: unknown): boolean {
  const kind = kindOf(value);
  return typeof kind === 'string' && needs.credentialKinds?.includes(kind) === true;
}

function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as { type?: unknown }).type : undefined;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
