import { dataBlock } from './data-block.ts';

/** What an author's first prompt is made of. */
export interface AuthorBrief {
  workKey: string;
  title: string;
  /** The request as the human wrote it; empty when the title says all. */
  request: string;
  /** Left out for work without a repository. */
  branch?: { name: string; base: string };
  /** Checks that the candidate must pass, as shell-like lines for reading. */
  checks: readonly string[];
  /** What is unusual about the work folder: submodules, pointers of git-lfs. */
  notes?: readonly string[];
  /** Why a task that was done is open again. */
  reopened?: string;
  /** What stood on the branch before, when a fresh session goes on with earlier work. */
  earlierWork?: { summary: string; findings: string };
  /** What a human did on the branch, when the conversation that it interrupted is lost. */
  handedBack?: string;
}

/** The first prompt of an author session: task, rules of the work folder, how to ask and how to finish (design section 7). */
export function authorBrief(brief: AuthorBrief): string {
  const checks =
    brief.checks.length > 0 ? brief.checks.map((check) => `- ${check}`).join('\n') : '- none are configured';
  return [
    `You work on task ${brief.workKey}: ${brief.title}`,
    ...(brief.request.trim() === '' ? [] : [`The request, as it was written:`, brief.request]),
    ...(brief.reopened === undefined ? [] : [`It was done once and is open again: ${brief.reopened}`]),
    ...(brief.earlierWork
      ? [
          'Earlier work stands on this branch already. Go on with it; do not start again.',
          dataBlock('earlier work', brief.earlierWork.summary),
          dataBlock('open findings', brief.earlierWork.findings),
        ]
      : []),
    ...(brief.handedBack === undefined ? [] : [brief.handedBack]),
    ...(brief.branch ? [inRepository(brief.branch, checks, brief.notes ?? [])] : []),
    `- When something only a human can decide stops you, call the tool \`ask_human\` with one clear question and wait for its answer. Do not guess what you can ask.
- When the work is complete, call \`report_done\` with one sentence about it. Then end your turn.`,
  ].join('\n\n');
}

/** The prompt with which a conversation goes on whose change was landed and then taken back, or whose task was opened again. */
export function reopenedBrief(
  brief: Pick<AuthorBrief, 'workKey' | 'title' | 'reopened' | 'branch' | 'checks' | 'notes'>,
): string {
  const { workKey, title, reopened = '', branch, checks, notes = [] } = brief;
  const listed = checks.length > 0 ? checks.map((check) => `- ${check}`).join('\n') : '- none are configured';
  return [
    `Task ${workKey}, ${title}, was done and is open again: ${reopened}`,
    'Your folder was made anew from the present base; see what of your work still stands in it.',
    ...(branch ? [inRepository(branch, listed, notes)] : []),
    'Do what is needed now, then call `report_done` as before.',
  ].join('\n\n');
}

function inRepository(branch: { name: string; base: string }, checks: string, notes: readonly string[]): string {
  return `How to work here:
- You are in your own clone, on branch ${branch.name}, which starts at ${branch.base}. Nobody else writes to it.
- Commit what you want reviewed. Uncommitted files are not part of the change. Do not push; the change is taken from here.
${notes.map((note) => `- ${note}\n`).join('')}- A reviewer of another model family reads the change, then these checks run on it:
${checks}`;
}
