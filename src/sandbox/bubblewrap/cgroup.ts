import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { newShortId } from '../../kernel/index.ts';
import type { SandboxLimits } from '../profile.ts';
import { defaultLimits } from '../launcher.ts';
import { findSystemProgram } from './find-programs.ts';

/** How memory is bounded on this machine. */
export interface CgroupControl {
  kind: 'systemd' | 'unified' | 'split' | 'none';
  /** `systemd-run` with the arguments that reach a manager; for `systemd` only. */
  program?: readonly string[];
  /** What `program` needs in its environment. */
  env: Readonly<Record<string, string>>;
}

const noControl: CgroupControl = { kind: 'none', env: {} };
const root = '/sys/fs/cgroup';
const prefix = 'chantier-';

/**
 * Finds what bounds memory here: a scope of systemd (tried by running one), else, for root, a group of our own in a unified
 * (v2) or split (v1) tree. `none` where there is nothing; `doctor` says so.
 */
export async function findCgroupControl(): Promise<CgroupControl> {
  const systemd = await trySystemd();
  if (systemd) return systemd;
  if (process.getuid?.() !== 0) return noControl;
  const enabled = readWords(join(root, 'cgroup.subtree_control'));
  if (enabled.includes('memory') && enabled.includes('pids') && isWritable(root)) return { kind: 'unified', env: {} };
  if (isWritable(join(root, 'memory')) && existsSync(join(root, 'memory/memory.limit_in_bytes')))
    return { kind: 'split', env: {} };
  return noControl;
}

/**
 * The prefix of a command that bounds its memory, where asked, and its processes; empty when there is nothing to bound them
 * with. `always`: also without a memory limit, because nothing else counts the processes of one session alone.
 */
export async function joinCgroup(control: CgroupControl, limits: SandboxLimits, always: boolean): Promise<string[]> {
  if (control.kind === 'none' || (limits.memoryBytes === undefined && !always)) return [];
  const memory = limits.memoryBytes === undefined ? undefined : String(Math.floor(limits.memoryBytes));
  const processes = String(Math.floor(limits.processes ?? defaultLimits.processes));
  if (control.kind === 'systemd') {
    const bounds = memory === undefined ? [] : ['-p', `MemoryMax=${memory}`, '-p', 'MemorySwapMax=0'];
    return [...control.program!, ...bounds, '-p', `TasksMax=${processes}`, '--'];
  }
  const groups = [];
  if (control.kind === 'unified')
    groups.push(await makeGroup(root, { ...(memory ? { 'memory.max': memory } : {}), 'pids.max': processes }));
  if (control.kind === 'split' && memory)
    groups.push(await makeGroup(join(root, 'memory'), { 'memory.limit_in_bytes': memory }));
  if (control.kind === 'split' && isWritable(join(root, 'pids')))
    groups.push(await makeGroup(join(root, 'pids'), { 'pids.max': processes }));
  if (groups.length === 0) return [];
  const joins = groups.map((group) => `echo $$ > ${group}/cgroup.procs`);
  return ['/bin/sh', '-c', [...joins, 'exec "$@"'].join(' && '), 'chantier-limit'];
}

async function trySystemd(): Promise<CgroupControl | undefined> {
  const systemdRun = findSystemProgram('systemd-run');
  if (!systemdRun || !existsSync('/run/systemd/system')) return undefined;
  const isRoot = process.getuid?.() === 0;
  const program = [systemdRun, ...(isRoot ? [] : ['--user']), '--scope', '--quiet', '--collect'];
  const names = isRoot ? [] : ['XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];
  const env = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  try {
    const [file, ...args] = [...program, '-p', 'MemoryMax=64M', '--', '/bin/true'];
    await promisify(execFile)(file, args, { env: { ...env, PATH: '/usr/bin:/bin' }, timeout: 5_000 });
    return { kind: 'systemd', program, env };
  } catch {
    return undefined; // no manager answers, as in a container
  }
}

async function makeGroup(tree: string, files: Readonly<Record<string, string>>): Promise<string> {
  await removeEmptyGroups(tree);
  const group = join(tree, `${prefix}${sinceBootMs()}-${newShortId<string>()}`);
  await mkdir(group);
  for (const [name, value] of Object.entries(files)) await writeFile(join(group, name), value);
  return group;
}

/** Groups whose processes are gone. A young one may still wait for its first; these file systems know no birth, so the name does. */
async function removeEmptyGroups(tree: string): Promise<void> {
  for (const name of await readdir(tree)) {
    const madeAt = Number(/^chantier-(\d+)-/.exec(name)?.[1] ?? Number.NaN);
    if (sinceBootMs() - madeAt > 60_000) await rmdir(join(tree, name)).catch(() => {}); // busy: its processes live
  }
}

/** All processes of the machine agree on it, and nobody can set it; groups do not outlive a boot. */
function sinceBootMs(): number {
  return Math.round(uptime() * 1000);
}

function readWords(path: string): string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split(/\s+/) : [];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
