import { forLog } from '../../kernel/index.ts';
import { dataBlock } from './data-block.ts';

/** What a human did at the wheel of a session. */
export interface Handback {
  commits: readonly { id: string; author: string; subject: string }[];
  patch: string;
  isPatchCut: boolean;
  /** The whole, as two commits; left out when nothing was changed. */
  range?: { from: string; to: string };
  /** The human's words; empty for none. */
  note: string;
  /** What humans told the session while nobody could hear it, answers to its questions among it. */
  told: readonly string[];
}

/** The prompt with which an agent goes on after a human gave the session back (design 7 "Humans at the wheel"). */
export function handbackBrief(handback: Handback): string {
  const { commits, range } = handback;
  const what =
    commits.length === 0 || !range
      ? ['They committed nothing; the branch is as you left it.']
      : [
          `They added these commits to your branch (the whole: \`git diff ${range.from} ${range.to}\`):`,
          dataBlock(
            'commits of the human',
            commits
              .map(({ id, author, subject }) => `${id.slice(0, 12)} ${forLog(author, 60)}: ${forLog(subject)}`)
              .join('\n'),
          ),
          dataBlock(handback.isPatchCut ? 'their change, cut' : 'their change', handback.patch),
        ];
  return [
    'A human has worked in your folder, and perhaps talked in this conversation, while you were stopped. Your turn was cut: what you were doing then may be half done.',
    ...what,
    ...handback.told.map((text) => `Meanwhile a human told you: ${text}`),
    ...(handback.note === '' ? [] : [`The human says: ${handback.note}`]),
    'Look at what is there and go on with the task from it; keep what the human did. When the work is complete, call `report_done`. Questions that you had asked were closed: ask again what you still need.',
  ].join('\n\n');
}
