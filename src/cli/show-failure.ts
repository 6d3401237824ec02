import type { FailureView, RetryView } from '../wire/index.ts';
import { oneLine, timeLeft, visible } from './show.ts';

/** `exited, exit 1, "Cannot find module"`: why a session failed, on one line. */
export function causeText(reason: string | null, failure: FailureView | null): string {
  const last = failure?.errors.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return [
    oneLine(reason ?? 'unknown', 80),
    ...exitText(failure),
    ...(last === '' ? [] : [`"${oneLine(last, 160)}"`]),
  ].join(', ');
}

/** `pd/job-t1 (turing): start failed 1 of 3: exited, exit 1, next try in 8 s`. */
export function retryText(retry: RetryView): string {
  const what = retry.state === 'START_FAILED' ? 'start failed' : 'crashed';
  const isDue = Date.parse(retry.nextTryAt) <= Date.now();
  const next = isDue ? 'next try as soon as there is room' : `next try in ${timeLeft(retry.nextTryAt)}`;
  const cause = causeText(retry.reason, retry.failure);
  return `${oneLine(retry.workKey, 120)} (${oneLine(retry.agent, 60)}): ${what} ${retry.attempt} of ${retry.maxAttempts}: ${cause}, ${next}`;
}

/** Exit and the last lines of the error output, for the end of a transcript. */
export function failureText(failure: FailureView): string {
  const lines = failure.errors.trimEnd().split('\n').slice(-10);
  const errors =
    failure.errors.trim() === '' ? [] : ['The end of its error output:', ...lines.map((line) => `  ${visible(line)}`)];
  const exit = exitText(failure);
  return [exit.length === 0 ? 'It failed without an exit code.' : `It failed: ${exit.join(', ')}.`, ...errors].join(
    '\n',
  );
}

function exitText(failure: FailureView | null): string[] {
  if (failure === null || failure.exitCode === null) return [];
  return [`exit ${failure.exitCode}${failure.signal === null ? '' : ` (${failure.signal})`}`];
}
