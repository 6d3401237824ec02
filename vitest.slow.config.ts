import { defineConfig } from 'vitest/config';

const longest = ['test/faults/fixture-repositories.test.ts', 'test/faults/night-shift.test.ts'];

/** `npm run test:slow`: processes and databases killed at random, long properties, the package as it is installed. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts', 'test/package/**/*.test.ts'],
    // Half an hour is what all of CI may take: these two run with `-- --full`.
    exclude: process.env.CHANTIER_TEST_FULL === '1' ? [] : longest,
    setupFiles: ['test/slow-setup.ts'],
    // Tests of real processes meet the machine's load; the reporter names what needed a second try.
    retry: process.env.CI === undefined ? 0 : 2,
    reporters: ['default', './test/reporter.ts'],
    // Most tests wait for processes and clocks.
    maxWorkers: 3,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
