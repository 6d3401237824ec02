import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

/** The quick suite: everything beside the code and in `test/`, but for the slow folders that have scripts of their own. */
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/agents-real/**', 'test/conformance/**', 'test/faults/**', 'test/package/**'],
    isolate: false,
    // Most tests wait for processes, disks and clocks: a worker for each core would leave the cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
    // Tests of real processes meet the machine's load; the reporter names what needed a second try.
    retry: process.env.CI === undefined ? 0 : 1,
    reporters: ['default', './test/reporter.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
