import type { Json } from '../../kernel/index.ts';
import type { Candidate, ChangeFacts, Repository } from '../../forge/index.ts';

/** The exact git effect of a landing, as the human who says yes is shown it (design section 6 "What may land"). */
export function describeEffect(repository: Repository, candidate: Candidate, change: ChangeFacts): Json {
  const figures = `${change.files.length} ${change.files.length === 1 ? 'file' : 'files'}, +${change.addedLines} −${change.deletedLines}`;
  const short = candidate.commit.slice(0, 12);
  const target =
    repository.mode === 'base'
      ? `${repository.base} moves from ${candidate.baseTip.slice(0, 12)} to ${short}; your checkout follows where that is a plain fast-forward of a clean tree`
      : `the reviewed change becomes a branch at ${short} for you to push; nothing is pushed from here`;
  return {
    mode: repository.mode,
    method: candidate.method,
    base: repository.base,
    from: candidate.baseTip,
    to: candidate.commit,
    files: change.files.length,
    added: change.addedLines,
    removed: change.deletedLines,
    text: `${target} (${candidate.method}, ${figures}).`,
  };
}
