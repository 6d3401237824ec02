import { readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, resolve } from 'node:path';

import type { GateCall } from './call.ts';

/** Where a path of a call lies. */
export type Place = 'inside' | 'protected' | 'credentials' | 'outside';

/** Judges paths of one call; symbolic links are resolved (decision 7). Reads the disk: only outside transactions. */
export interface Places {
  /** The worst place that `path` can mean from any of the folders that the command may be in. */
  placeOf(path: string): Place;
  /** Relative to the work folder where it lies there, else absolute; as rules match it. */
  forRules(path: string): string;
  /** The command changed its folder to `path`; the earlier ones stay possible. `undefined` = unknown. */
  enter(path: string | undefined): void;
  /** Whether every folder that the command may be in is known and inside the work folder. */
  isInWorkFolder(): boolean;
  /** Absolute forms of `path`, one for each folder that the command may be in. */
  absolutes(path: string): string[];
}

/** Names in a work folder that run code later, outside of any gate. */
const protectedNames = new Set(['.git', '.husky', '.githooks', '.envrc']);
const temporaryFolders = ['/tmp', '/var/tmp', '/dev/shm'];
const severity: readonly Place[] = ['inside', 'protected', 'outside', 'credentials'];
const maxFolders = 8;

export function placesOf(call: GateCall): Places {
  const roots = [call.workFolder, ...(call.privateFolders ?? []), ...(call.sandboxHolds ? temporaryFolders : [])];
  const folders = new Set([resolve('/', call.cwd)]);
  let isUnknown = false;

  const absolutes = (path: string): string[] =>
    isAbsolute(path) ? [normalize(path)] : [...folders].map((folder) => resolve(folder, path));

  function placeOfAbsolute(path: string): Place {
    const real = realPathOf(path);
    if ((call.credentialFolders ?? []).some((folder) => isWithin(path, folder) || isWithin(real, realPathOf(folder))))
      return 'credentials';
    const root = roots.find((candidate) => isWithin(path, candidate) && isWithin(real, realPathOf(candidate)));
    if (root === undefined) {
      return /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(path) ? 'inside' : 'outside';
    }
    // The folder itself holds what is protected.
    if (isWithin(call.workFolder, path) || isWithin(realPathOf(call.workFolder), real)) return 'protected';
    const names = [...relative(root, path).split('/'), ...relative(realPathOf(root), real).split('/')];
    return names.some((name) => protectedNames.has(name.toLowerCase())) ? 'protected' : 'inside';
  }

  return {
    absolutes,
    placeOf(path) {
      if (path === '' || path.includes('\0') || (isUnknown && !isAbsolute(path))) return 'outside';
      const places = absolutes(path).map(placeOfAbsolute);
      return places.reduce(
        (worst, place) => (severity.indexOf(place) > severity.indexOf(worst) ? place : worst),
        'inside' as Place,
      );
    },
    forRules(path) {
      const [absolute = path] = absolutes(path);
      const real = realPathOf(absolute);
      const root = realPathOf(call.workFolder);
      return isWithin(real, root) ? relative(root, real) : real;
    },
    enter(path) {
      if (path === undefined || folders.size >= maxFolders) isUnknown = true;
      else for (const folder of absolutes(path)) folders.add(folder);
    },
    isInWorkFolder() {
      return !isUnknown && [...folders].every((folder) => isWithin(realPathOf(folder), realPathOf(call.workFolder)));
    },
  };
}

function isWithin(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || (rest !== '..' && !rest.startsWith('../') && !isAbsolute(rest));
}

/** The real path of the part of `path` that exists, with the rest behind it; a link into nothing is followed too. */
function realPathOf(path: string, followed = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || followed > 40) return path;
    const here = join(realPathOf(parent, followed), path.slice(parent.length));
    const target = linkTarget(here);
    return target === undefined ? here : realPathOf(resolve(dirname(here), target), followed + 1);
  }
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
