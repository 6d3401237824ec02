import type { Reporter, TestCase, TestModule } from 'vitest/node';

/**
 * Ends a run with one line that machines can read: `N passed, N failed, N skipped`. Before it, every reason why a part did
 * not run, so that nobody takes a skipped part for a passed one (design section 10).
 */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter(
      (module) => module.state() === 'failed' && [...module.children.allTests()].length === 0,
    );
    for (const reason of new Set(tests.flatMap(skipReason))) process.stdout.write(`did not run: ${reason}\n`);
    const failed = count('failed') + broken.length + errors.length;
    process.stdout.write(`\n${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped\n`);
  }
}

function skipReason(test: TestCase): string[] {
  const result = test.result();
  if (result.state !== 'skipped') return [];
  return [result.note ?? `${test.module.relativeModuleId}: ${test.fullName}`];
}
