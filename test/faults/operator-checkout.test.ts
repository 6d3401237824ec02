import { rmSync } from 'node:fs';

import { afterAll, beforeAll, test } from 'vitest';

import { checkOperatorCheckout, type ForgeWorld, openForgeWorld } from '../repositories/index.ts';

let world: ForgeWorld;
beforeAll(async () => void (world = await openForgeWorld({ keep: true })));
afterAll(() => rmSync(world.folder, { recursive: true, force: true }));

/** How many states are tried; a failure prints its seed. */
const numRuns = process.env.CHANTIER_TEST_FULL === '1' ? 1_000 : 60;

test(
  'property, long form: whatever state the checkout is in, every operation leaves it byte-equal but for the announced fast-forward',
  { timeout: 3_600_000 },
  () => checkOperatorCheckout(world, { numRuns }),
);
