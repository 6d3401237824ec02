import { lstatSync, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, normalize, sep } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import type { Mount, SandboxProfile } from '../profile.ts';

/** One bind mount of a sandbox. */
export interface PlannedMount extends Mount {
  access: 'read-write' | 'read-only';
}

/** Folders of the operating system, shown read-only in every sandbox. */
export const systemFolders = ['/usr', '/etc', '/opt', '/nix/store', '/gnu/store'];

/** Where the sockets of the wall appear inside; the forwarder connects to `sock` in it. */
export const wallFolderInside = '/run/chantier/wall';

/**
 * The mounts of `profile` beyond the system's own, parents before children. Throws `Fault` when a path is relative, missing
 * where it must exist, or a symbolic link where an agent could have put one (a link planted between two sessions would show
 * whatever it points to). Read-only folders that do not exist are left out.
 */
export function planMounts(profile: SandboxProfile): PlannedMount[] {
  const same = (path: string, access: PlannedMount['access']): PlannedMount => ({
    outside: path,
    inside: path,
    access,
  });
  const ours: PlannedMount[] = [
    same(profile.workFolder, profile.workFolderAccess),
    same(profile.home, 'read-write'),
    ...profile.writable.map((path) => same(path, 'read-write')),
    ...(profile.credentialFolder ? [{ ...profile.credentialFolder, access: 'read-write' as const }] : []),
  ];
  const sockets = profile.socketFolders.map((mount) => ({ ...mount, access: 'read-only' as const }));
  if (profile.network.kind === 'wall')
    sockets.push({ outside: profile.network.socketFolder, inside: wallFolderInside, access: 'read-only' });
  for (const mount of [...ours, ...sockets]) demandFolder(mount);
  const readOnly = profile.readOnly
    .filter((path) => existsSync(path) && !systemFolders.some((folder) => isWithin(path, folder)))
    .map((path) => same(path, 'read-only'));
  for (const mount of readOnly) demandNoPlantedLink(mount, ours);
  const all = [...readOnly, ...ours, ...sockets];
  for (const mount of all) demandPlainPath(mount.inside);
  // A path named twice keeps its last meaning; parents come before what is mounted into them.
  const byInside = new Map(all.map((mount) => [mount.inside, mount]));
  return [...byInside.values()].toSorted((a, b) => depth(a.inside) - depth(b.inside));
}

/** The folders above `path`, outermost first, without the root. */
export function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); at !== '/'; at = dirname(at)) parents.unshift(at);
  return parents;
}

/** Whether `path` is `folder` or lies below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function demandFolder({ outside }: PlannedMount): void {
  demandPlainPath(outside);
  const found = lstatSync(outside, { throwIfNoEntry: false });
  if (!found)
    throw new Fault('sandbox_path_missing', `${outside} does not exist; it must before a sandbox can show it.`);
  if (found.isSymbolicLink() || !found.isDirectory())
    throw new Fault(
      'sandbox_path_not_a_folder',
      `${outside} is not a plain folder (a link or a file); look at what put it there.`,
    );
}

function demandNoPlantedLink({ outside }: PlannedMount, writable: readonly PlannedMount[]): void {
  const holder = writable.find((mount) => isWithin(outside, mount.outside));
  if (holder && !isWithin(realpathSync(outside), realpathSync(holder.outside)))
    throw new Fault('sandbox_path_leaves_folder', `${outside} leads out of ${holder.outside} through a link.`);
}

function demandPlainPath(path: string): void {
  if (!isAbsolute(path) || normalize(path) !== path || path === '/' || path.endsWith('/') || path.includes('\0'))
    throw new Fault('sandbox_path_not_plain', `"${path}" is not a plain absolute path.`);
}

function depth(path: string): number {
  return path.split('/').length;
}

/** Whether `path` is a folder, following links. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
