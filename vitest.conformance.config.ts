import { defineConfig } from 'vitest/config';

/** `npm run test:conformance`: what judges from outside say. */
export default defineConfig({
  test: {
    include: ['test/conformance/**/*.test.ts'],
    reporters: ['default', './test/reporter.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
