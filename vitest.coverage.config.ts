import { defineConfig } from 'vitest/config';

import quick from './vitest.config.ts';

/**
 * `npm run test:coverage`: the tests of the quick suite that reach `src/sessions`, with the lines of it that they ran counted
 * (S-68). Files that no test loads count as not covered; what runs in processes of its own (servers, wrappers, agents) is not
 * counted at all.
 */
export default defineConfig({
  test: {
    ...quick.test,
    include: ['src/{sessions,app,mcp,server}/**/*.test.ts', 'test/app/**/*.test.ts'],
    // Counting slows down what some tests time; the reporter names what needed another try.
    retry: 2,
    coverage: {
      enabled: true,
      provider: 'v8',
      include: ['src/sessions/**/*.ts'],
      exclude: ['**/*.test.ts', '**/testing.ts'],
      // A red test makes the run red; the figure is said all the same.
      reportOnFailure: true,
      reporter: ['text', 'text-summary'],
      thresholds: { lines: 90 },
    },
  },
});
