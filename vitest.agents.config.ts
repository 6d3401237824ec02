import { defineConfig } from 'vitest/config';

/** `npm run test:agents`: the real agents against a scripted model server on this machine. */
export default defineConfig({
  test: {
    include: ['test/agents-real/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    // Tests of real processes meet the machine's load; the reporter names what needed a second try.
    retry: process.env.CI === undefined ? 0 : 2,
    reporters: ['default', './test/reporter.ts'],
    // Two instances at once, each with one agent beside its scripted reviewer: two cores hold no more.
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
