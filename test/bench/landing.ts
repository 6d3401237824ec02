import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { baseTip, measureLanding, takeBranch } from '../../src/forge/index.ts';
import { mustOk } from '../../src/kernel/index.ts';
import {
  adoptRepository,
  commitAll,
  makeMakeRepository,
  openAuthorFolder,
  openForgeWorld,
  writeFiles,
} from '../repositories/index.ts';
import { type Figure, figureOf } from './figure.ts';

/** A local landing without checks, against the three git commands that it cannot do without. */
export async function benchLanding(): Promise<Figure[]> {
  const world = await openForgeWorld({ keep: true });
  try {
    const repository = await adoptRepository(world, makeMakeRepository(join(world.folder, 'app')));
    const samples = { ours: [] as number[], bare: [] as number[] };
    for (let n = 0; n < 20; n += 1) {
      const tip = (await baseTip(world.forge, repository)) ?? '';
      const owner = { ownerKey: `session-${n}`, branch: `chantier/turing/issue-${n}` };
      const folder = await openAuthorFolder(world, repository, tip, owner);
      writeFiles(folder.clone, { [`file-${n}.txt`]: `${n}\n` });
      commitAll(folder.clone, `File ${n}`);
      const { commit } = mustOk(await takeBranch(world.forge, repository, folder, world.inside));
      const { landingMs, baselineMs } = await measureLanding(world.forge, repository, commit, `bench-${n}`);
      samples.ours.push(landingMs);
      samples.bare.push(baselineMs);
    }
    const parts = {
      baseline: { name: 'git merge-tree, commit-tree, update-ref', samples: samples.bare },
      target: { at: 'p50', atMost: 100 },
    } as const;
    return [figureOf('landing: local, without checks', samples.ours, parts)];
  } finally {
    rmSync(world.folder, { recursive: true, force: true });
  }
}
