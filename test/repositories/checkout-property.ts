import { chmodSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { expect } from 'vitest';

import {
  baseTip,
  buildCandidate,
  changedFiles,
  detectRepository,
  fastForwardOperator,
  inspectWorkFolder,
  landCandidate,
  publishReviewedBranch,
  registerRepository,
  removeWorkFolder,
  type Repository,
  snapshotChanges,
  takeBranch,
} from '../../src/forge/index.ts';
import { mustOk } from '../../src/kernel/index.ts';
import { openTestSqlite } from '../../src/store/testing.ts';
import { folderState } from './folder-state.ts';
import { type ForgeWorld, openAuthorFolder, operator, syncBase, turing } from './forge-world.ts';
import { commitAll, git, writeFiles } from './git.ts';
import { makeMakeRepository } from './plain.ts';

let count = 0;

/**
 * Property of design section 6: over random states of a person's checkout, every operation of the forge leaves it byte-equal
 * (index, refs, reflogs, stash, configuration, files), but for the announced fast-forward.
 */
export async function checkOperatorCheckout(world: ForgeWorld, options: fc.Parameters<unknown>): Promise<void> {
  const { store } = await openTestSqlite();
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 8 }), fc.boolean(), async (steps, adoptFirst) => {
      const { forge } = world;
      const checkout = makeMakeRepository(join(world.folder, `app-${++count}`));
      const doAll = (): void => steps.forEach((step, at) => perform(checkout, step, at));
      if (!adoptFirst) doAll();
      const detected = mustOk(await detectRepository(forge, checkout, { base: 'main' }));
      const repository = mustOk(
        await store.tx((tx) => registerRepository(tx, { detected, forgeFolder: forge.folders.forge, actor: operator })),
      );
      await syncBase(forge, repository);
      if (adoptFirst) doAll();
      const before = folderState(checkout);
      await detectRepository(forge, checkout, { base: 'main' });
      await snapshotChanges(forge, repository, 'any');
      if (adoptFirst) await syncBase(forge, repository);
      const to = await landChange(world, repository, { 'greeting.txt': `hello ${count}\n`, 'landed.txt': 'landed\n' });
      expect(folderState(checkout)).toEqual(before);
      const outcome = await fastForwardOperator(forge, repository, to);
      const allowed = [
        '.git/objects',
        '.git/index',
        '.git/logs',
        '.git/refs/heads/main',
        '.git/packed-refs',
        'greeting.txt',
        'landed.txt',
      ];
      if (outcome.outcome === 'left') expect(folderState(checkout)).toEqual(before);
      else {
        expect(folderState(checkout, allowed)).toEqual(folderStateWithout(before, allowed));
        expect(git(checkout, 'rev-parse', 'main')).toBe(to);
        expect(git(checkout, 'fsck', '--connectivity-only', '--no-dangling')).toBe('');
      }
      rmSync(checkout, { recursive: true });
      rmSync(repository.forgeDir, { recursive: true });
    }),
    options,
  );
}

/** Lands one change (files written in a work folder) and gives the landed commit. */
export async function landChange(
  world: ForgeWorld,
  repository: Repository,
  files: Record<string, string>,
  removed: readonly string[] = [],
): Promise<string> {
  const { forge, inside } = world;
  const start = (await baseTip(forge, repository)) ?? '';
  const key = `session-${start.slice(0, 8)}`;
  const folder = await openAuthorFolder(world, repository, start, { ownerKey: key, branch: `chantier/turing/${key}` });
  for (const path of removed) git(folder.clone, 'rm', '--quiet', path);
  writeFiles(folder.clone, files);
  commitAll(folder.clone, 'A change');
  mustOk(await inspectWorkFolder(forge, repository, folder, inside));
  const taken = mustOk(await takeBranch(forge, repository, folder, inside));
  await changedFiles(forge, repository, start, taken.commit);
  const landing = {
    landingId: key,
    head: taken.commit,
    method: 'squash',
    message: 'Change',
    author: turing,
    dateMs: 0,
  } as const;
  const candidate = mustOk(await buildCandidate(forge, repository, landing));
  mustOk(await publishReviewedBranch(forge, repository, candidate, taken.branch));
  mustOk(await landCandidate(forge, repository, candidate, taken.branch));
  mustOk(await removeWorkFolder(forge, repository, folder, inside));
  return candidate.commit;
}

/** One thing that a person may have done in their checkout. */
export const deed = fc.oneof(
  fc.record({
    do: fc.constant('edit' as const),
    path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt', 'ümlaut "q" file', 'd/x'),
    text: fc.string({ maxLength: 20 }),
  }),
  fc.record({
    do: fc.constant('stage' as const),
    path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt', 'd/x'),
  }),
  fc.record({ do: fc.constant('remove' as const), path: fc.constantFrom('greeting.txt', 'README.md', 'new.txt') }),
  fc.record({
    do: fc.constantFrom(
      'stash' as const,
      'commit' as const,
      'branch' as const,
      'link' as const,
      'touch' as const,
      'chmod' as const,
      'pack' as const,
      'config' as const,
      'intent' as const,
      'tag' as const,
    ),
  }),
);

export type Deed = typeof deed extends fc.Arbitrary<infer T> ? T : never;

/** Does it in the checkout at `top`; `at` makes names of it. */
export function perform(top: string, step: Deed, at: number): void {
  try {
    if (step.do === 'edit') writeFiles(top, { [step.path]: step.text });
    else if (step.do === 'stage') git(top, 'add', '--', step.path);
    else if (step.do === 'remove') rmSync(join(top, step.path));
    else if (step.do === 'stash') git(top, 'stash', '--quiet');
    else if (step.do === 'commit') git(top, 'commit', '--quiet', '--allow-empty', '-a', '-m', `person ${at}`);
    else if (step.do === 'branch') git(top, 'checkout', '--quiet', '-b', `side-${at}`);
    else if (step.do === 'link') symlinkSync('/etc/hostname', join(top, 'link'));
    else if (step.do === 'touch') utimesSync(join(top, 'greeting.txt'), at, at);
    else if (step.do === 'chmod') chmodSync(join(top, 'test.sh'), 0o755);
    else if (step.do === 'pack') git(top, 'pack-refs', '--all');
    else if (step.do === 'config') git(top, 'config', 'core.autocrlf', 'input');
    else if (step.do === 'intent') git(top, 'add', '--intent-to-add', '.');
    else git(top, 'tag', `t${at}`);
  } catch {
    // Not every deed is possible in every state; what matters is the state that comes out.
  }
}

function folderStateWithout(state: Record<string, string>, skip: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(state).filter(([path]) => !skip.some((one) => path === one || path.startsWith(`${one}/`))),
  );
}
