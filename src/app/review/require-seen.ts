import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { Repository } from '../../forge/index.ts';
import type { PullRequest } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { diffView } from './views.ts';

/** Refuses unless the human names the head that they have seen, and it is still the head (A6). */
export function requireSeenHead(pullRequest: PullRequest, head: string | undefined): Result<undefined> {
  const { number, headSha } = pullRequest;
  if (head === undefined || head.length < 7) {
    const message = `Say which head you have seen; \`chantier pr show ${number} --diff\` names it.`;
    return refuse('invalid', 'head_missing', message, { head: headSha });
  }
  if (headSha.startsWith(head)) return ok();
  return refuse(
    'wrong-state',
    'stale_head',
    `You have seen ${head.slice(0, 12)}, but the change is at ${headSha.slice(0, 12)} now. Look at it again.`,
    { head: headSha },
  );
}

/**
 * Refuses `not_shown_whole` for a change that no client can show whole, unless the human says that they have read it elsewhere.
 * A yes to what was not seen is no yes (P5).
 */
export async function requireShownWhole(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
  isSeenWhole: boolean,
): Promise<Result<void>> {
  if (isSeenWhole) return ok();
  const diff = await diffView(ctx, repository, pullRequest);
  return diff.isTruncated
    ? refuse('wrong-state', 'not_shown_whole', diff.reason ?? 'The change cannot be shown whole.', {
        files: diff.files.filter((file) => file.notShown !== null).map((file) => file.path),
      })
    : ok();
}
