import { performance } from 'node:perf_hooks';

import { mustOk } from '../../kernel/index.ts';
import type { Forge } from '../forge.ts';
import { runGit, serverIdentity } from '../git/index.ts';
import type { ForgeRepository } from '../repository.ts';
import { buildCandidate, dropCandidate, landCandidate, verifyLanding } from './candidate.ts';

/**
 * For the bench: lands `head` once on the forge's base, without checks, and gives the milliseconds of our path and of the
 * three bare git commands that it cannot do without (`merge-tree`, `commit-tree`, `update-ref`), measured in the same run.
 */
export async function measureLanding(
  forge: Forge,
  repository: ForgeRepository,
  head: string,
  landingId: string,
): Promise<{ landingMs: number; baselineMs: number }> {
  const began = performance.now();
  const candidate = mustOk(
    await buildCandidate(forge, repository, {
      landingId,
      head,
      method: 'squash',
      message: 'Measured landing',
      author: serverIdentity,
      dateMs: forge.clock.now(),
    }),
  );
  mustOk(await landCandidate(forge, repository, candidate));
  await verifyLanding(forge, repository, candidate);
  const landingMs = performance.now() - began;
  const again = performance.now();
  const place = { gitDir: repository.forgeDir };
  await runGit(forge.git, place, ['merge-tree', '--write-tree', candidate.baseTip, head]);
  await runGit(forge.git, place, ['commit-tree', candidate.tree, '-p', candidate.baseTip, '-m', 'baseline'], {
    dateMs: 0,
  });
  await runGit(forge.git, place, ['update-ref', 'refs/chantier/baseline', candidate.commit]);
  const baselineMs = performance.now() - again;
  await dropCandidate(forge, repository, landingId);
  return { landingMs, baselineMs };
}
