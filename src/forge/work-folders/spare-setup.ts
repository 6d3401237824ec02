import { mkdtemp, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { copyTree } from './copy-tree.ts';

/** No copy is made ahead where less than this is free, bytes. */
const leastFree = 8 * 1024 ** 3;

/** Where the copy of a kept set-up lies that was made ahead. */
export function spareOf(home: string, key: string): string {
  return join(home, `${key}.spare`);
}

/** Takes the copy that was made ahead, by one rename to `into`, so that two folders never share one. */
export async function takeSpare(home: string, key: string, into: string): Promise<string | undefined> {
  await rm(into, { recursive: true, force: true }); // of a server that ended here
  return rename(spareOf(home, key), into).then(
    () => into,
    () => undefined,
  );
}

/**
 * Makes a copy of a kept set-up ahead of the next folder, behind everything else, so that this folder takes a rename instead
 * of the minute that tens of thousands of files may take. One for a repository, none on a full disk. Waiting for it:
 * `forge.turns.run(home, …)`.
 */
export function stockSpare(
  forge: Forge,
  kept: { home: string; key: string; outputs: number; owner: Sandbox['owner'] },
): void {
  // A convenience: whatever hinders it, the next folder copies for itself.
  forge.turns.run(kept.home, () => stock(kept)).catch(() => {});
}

async function stock({ home, key, outputs, owner }: Parameters<typeof stockSpare>[1]): Promise<void> {
  const isThere = await stat(spareOf(home, key)).then(
    () => true,
    () => false,
  );
  const { bavail, bsize } = await statfs(home);
  if (isThere || bavail * bsize < leastFree) return;
  for (const name of await readdir(home))
    if (name.endsWith('.spare')) await rm(join(home, name), { recursive: true, force: true });
  const fresh = await mkdtemp(join(home, 'new-'));
  try {
    for (let at = 0; at < outputs; at += 1)
      await copyTree(join(home, key, String(at)), join(fresh, String(at)), { isPatient: true });
    await giveToOwner(owner, [fresh]);
    await rename(fresh, spareOf(home, key));
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
}
