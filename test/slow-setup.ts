import { configureGlobal } from 'fast-check';

/** Properties follow from the seed that `npm run test:slow` printed, and try more in the long form. */
const seed = Number(process.env.CHANTIER_TEST_SEED);
configureGlobal({
  ...(Number.isNaN(seed) ? {} : { seed }),
  ...(process.env.CHANTIER_TEST_FULL === '1' ? { numRuns: 2_000 } : {}),
});
