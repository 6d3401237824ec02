import { defineConfig } from 'vitest/config';

/** `npm run test:slow`: processes and databases killed at random, long properties, the package as it is installed. */
export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts', 'test/package/**/*.test.ts'],
    setupFiles: ['test/slow-setup.ts'],
    // Tests of real processes meet the machine's load; the reporter names what needed a second try.
    retry: process.env.CI === undefined ? 0 : 1,
    reporters: ['default', './test/reporter.ts'],
    // Most tests wait for processes and clocks.
    maxWorkers: 3,
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
