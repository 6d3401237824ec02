import type { PullRequestView } from '../wire/index.ts';
import type { CliContext } from './context.ts';
import { failWith } from './outcome.ts';
import { readSeenHead, seenFileOf } from './seen-heads.ts';
import { unlockFileOf } from './unlock-file.ts';

/** A pull request as an address; `#3` is 3. */
export function pathOf(name: string): string {
  return `/api/pull-requests/${encodeURIComponent(name.replace(/^#/, ''))}`;
}

/**
 * What a yes to a change carries: its address by id, and the head that the human has seen, given or printed by `pr show` at this
 * terminal. Throws exit 2 without either.
 */
export async function seenOf(
  context: CliContext,
  name: string,
  options: Record<string, unknown>,
): Promise<{ path: string; head: string; isSeenWhole?: true }> {
  const whole = options.seenWhole ? { isSeenWhole: true as const } : {};
  if (typeof options.head === 'string') return { path: pathOf(name), head: options.head, ...whole };
  const { id, number } = await context.get<PullRequestView>(pathOf(name));
  const head = readSeenHead(seenFileOf(unlockFileOf(context.paths.home, context.io.env)), id);
  if (head === undefined) {
    throw failWith(
      'invalid',
      'head_missing',
      `You have not looked at pull request ${number} here: "chantier pr show ${name} --diff" first, or name the head you have seen with --head.`,
    );
  }
  return { path: pathOf(id), head, ...whole };
}
