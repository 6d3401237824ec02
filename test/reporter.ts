import { writeSync } from 'node:fs';

import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

const endWithinMs = 30_000;

/**
 * Ends a run with one line that machines can read: `N passed, N failed, N skipped`. A file, a suite or a hook that fails by
 * itself counts as one failure. Before that line, why parts did not run, so that nobody takes a skipped part for a passed
 * one; with `CHANTIER_TEST_REQUIRE_ALL=1` such a run fails (design section 10), but for tests whose title says `(n/a: why)`.
 */
export default class SummaryReporter implements Reporter {
  #isWatching = false;
  #last = '';

  onInit(vitest: Vitest): void {
    this.#isWatching = vitest.config.watch;
    // At the very end: the runner itself may have more to say after its reporters.
    if (!this.#isWatching) process.once('exit', () => writeSync(1, this.#last));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const failed = count('failed') + suites.filter((suite) => suite.errors().length > 0).length + errors.length;
    const missing = countReasons(tests.filter((test) => test.result().state === 'skipped'));
    if (missing.size > 0 && process.env.CHANTIER_TEST_REQUIRE_ALL === '1') process.exitCode = 1;
    const again = tests.filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0 && test.result().state === 'passed');
    for (const test of again)
      process.stdout.write(`passed on a second try: ${test.module.relativeModuleId}: ${test.fullName}\n`);
    const lines = [...missing].map(([reason, number]) => `did not run: ${reason} (${number})`);
    this.#last = `${['', ...lines, `${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped`].join('\n')}\n`;
    if (this.#isWatching) process.stdout.write(this.#last);
    else setTimeout(endAnyway, endWithinMs).unref();
  }
}

/** The runner waits for everything that holds its pipes, so a process that a test left would hold it for good. */
function endAnyway(): void {
  process.stdout.write('The run did not end by itself: a test has left a process.\n');
  process.exit(1);
}

/** Why tests did not run, with the number of tests; those that have no place here (`n/a`) are left out. */
function countReasons(skipped: readonly TestCase[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const test of skipped) {
    if (/\(n\/a: /.test(test.fullName)) continue;
    const reason = reasonOf(test);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

/** The note of a skip, else what the title says about it, else the test's own name. */
function reasonOf(test: TestCase): string {
  const result = test.result();
  const said = result.state === 'skipped' ? result.note : undefined;
  return (
    said ??
    /\((?:did )?not run: (.*?)\)/.exec(test.fullName)?.[1] ??
    `${test.module.relativeModuleId}: ${test.fullName}`
  );
}
