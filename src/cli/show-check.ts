import type { PullRequestView } from '../wire/index.ts';
import { oneLine } from './show.ts';

/** `check test: failed, exit 2, after 12.3 s`: one line for each check of a candidate. */
export function checkLine({ name, status, exitCode, durationMs }: PullRequestView['checks'][number]): string {
  return [
    `check ${oneLine(name)}: ${status}`,
    ...(exitCode === null ? [] : [`exit ${exitCode}`]),
    ...(durationMs === null ? [] : [`after ${(durationMs / 1000).toFixed(1)} s`]),
  ].join(', ');
}
