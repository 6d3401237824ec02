const longestMs = 60_000;

/** How long to wait after the `failures`-th failure in a row: 1, 2, 4, … seconds, at most 60. */
export function backOffMs(failures: number): number {
  return Math.min(longestMs, 1000 * 2 ** Math.max(0, failures - 1));
}
