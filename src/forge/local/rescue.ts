import type { Forge } from '../forge.ts';
import { gitRecords } from '../git/index.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';
import { resolveRef } from './bare-repository.ts';
import { updateRefs } from './update-refs.ts';

/** Keeps `commit` (which is in the forge) under `refs/chantier/rescue/<key>`; local only, never pushed. Gives the ref. */
export async function saveRescueRef(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
  key: string,
  commit: string,
): Promise<string> {
  const ref = rescueRef(key);
  const existing = await resolveRef(forge, repository, ref);
  if (existing === commit) return ref;
  // Another commit under the same key is kept too.
  const free = existing === undefined ? ref : `${ref}-${commit.slice(0, 12)}`;
  await updateRefs(forge, repository, [{ do: 'set', ref: free, to: commit }]);
  return free;
}

/** Every rescue ref with its commit. */
export async function listRescueRefs(
  forge: Forge,
  repository: Pick<ForgeRepository, 'forgeDir'>,
): Promise<{ ref: string; commit: string }[]> {
  const lines = await gitRecords(forge.git, forgePlace(repository), [
    'for-each-ref',
    '--format=%(objectname) %(refname)%00',
    'refs/chantier/rescue/',
  ]);
  return lines
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => ({ commit: line.split(' ')[0] ?? '', ref: line.split(' ')[1] ?? '' }));
}

/** Ref of a key; characters that git forbids in refs become dashes. */
export function rescueRef(key: string): string {
  return `refs/chantier/rescue/${key.replaceAll(/[^\w./-]|\.\.|\.lock|@\{/g, '-').replaceAll(/\/{2,}|^\/|\/$|\/\./g, '-')}`;
}
