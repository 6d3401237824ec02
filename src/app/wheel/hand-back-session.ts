import { forLog, ok, refuse, type Result } from '../../kernel/index.ts';
import { commitInFolder, inspectWorkFolder, listCommits, takeBranch } from '../../forge/index.ts';
import {
  fields,
  handBack,
  notTakenOver,
  openTakeover,
  type SessionRow,
  stillEnding,
  type TakeoverRow,
  toSession,
} from '../../sessions/index.ts';
import type { HandbackRequest, HandedBackView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { isRepetition, once } from '../once.ts';
import { rowOf } from '../sessions/find-row.ts';
import { requireHere } from '../sessions/require-here.ts';
import { readSessionView } from '../sessions/views.ts';
import { insideOf } from '../workspace/inside.ts';
import { findSessionFolder, type SessionFolder } from '../workspace/session-folder.ts';
import { awaitAgentGone, rememberStart, terminalOpen } from './take-over-session.ts';
import { endTerminals, livingTerminals, removeTerminalFiles } from './terminals.ts';

type Commits = HandedBackView['commits'];

/**
 * `handback`: sees that no terminal is open, takes the human's commits, and lets the agent go on with them as its context, in
 * the same conversation (design 7). Refuses `terminal_open`, `work_folder_dirty` (files named), `other_branch`; then nothing
 * has changed.
 */
export async function handBackSession(
  ctx: AppContext,
  caller: Caller,
  name: string,
  request: HandbackRequest,
): Promise<Result<HandedBackView>> {
  const found = await rowOf(ctx.store.read, name);
  if (!found.ok) return found;
  const row = found.value;
  const here = requireHere(ctx, row);
  if (!here.ok) return here;
  for (const words of [request.note, request.commit]) {
    const text = words === undefined ? ok(words) : fields.promptText(words);
    if (!text.ok) return text;
  }
  const payload = { session: row.id, ...request };
  // A repetition touches nothing: the wheel may be in other hands by now.
  const isDone = await isRepetition(ctx.store, caller, 'handback', payload);
  const takeover = isDone ? undefined : await openTakeover(ctx.store.read, row.id);
  const taken = takeover ? await takeWork(ctx, row, takeover, request) : ok(undefined);
  if (!taken.ok) return taken;
  const { note } = request;
  const done = await once(ctx.store, caller, 'handback', payload, async (tx) => {
    if (!takeover) return notTakenOver(row);
    const back = await handBack(tx, caller.actor, {
      sessionId: row.id,
      takeoverId: takeover.id,
      ...(note === undefined ? {} : { note }),
      ...(taken.value === undefined ? {} : { endCommit: taken.value.head }),
    });
    return back.ok
      ? ok({ commits: taken.value?.commits ?? [], resumes: back.value.resume_conversation_id !== null })
      : back;
  });
  if (!done.ok) return done;
  if (takeover) {
    await endTerminals(takeover.id);
    await removeTerminalFiles(ctx, row.id);
  }
  const session = await readSessionView(ctx, row.id);
  if (!session.ok) return session;
  const commits = done.value.commits;
  return ok({
    session: session.value,
    commits,
    message: wordsOf(session.value.state, commits.length, done.value.resumes),
  });
}

function wordsOf(state: string, commits: number, resumes: boolean): string {
  const what = commits === 0 ? 'nothing new on the branch' : commits === 1 ? 'one commit' : `${commits} commits`;
  if (state === 'PAUSED') return `Taken: ${what}. The provider's limit lasts; its agent goes on by itself afterwards.`;
  return `Taken: ${what}. Its agent goes on ${resumes ? 'in the same conversation' : 'in a new conversation'} and is told of it.`;
}

/** Everything outside the store; safe to repeat. */
async function takeWork(
  ctx: AppContext,
  row: SessionRow,
  takeover: TakeoverRow,
  request: HandbackRequest,
): Promise<Result<{ head: string; commits: Commits } | undefined>> {
  // First the files, then the look: what was prepared and is not open yet can be opened no more.
  await removeTerminalFiles(ctx, row.id);
  if (request.end) await endTerminals(takeover.id);
  const living = livingTerminals(takeover.id);
  if (living.length > 0) return terminalOpen(row, takeover, living);
  if (!(await awaitAgentGone(ctx, row.id))) return stillEnding(row);
  const place = await findSessionFolder(ctx, toSession(row));
  if (!place?.repository) return ok(undefined);
  const start = (await rememberStart(ctx, row, takeover)) ?? place.folder.startCommit;
  const clean = await makeClean(ctx, row, takeover, place, request.commit);
  if (!clean.ok) return clean;
  const taken = await takeBranch(ctx.forge, place.repository, place.folder, insideOf(ctx));
  if (!taken.ok) return taken;
  const commits = await listCommits(ctx.forge, place.repository, start, taken.value.commit);
  return ok({
    head: taken.value.commit,
    commits: commits.map(({ id, author, subject }) => ({ id, author: forLog(author, 80), subject: forLog(subject) })),
  });
}

/** Refuses what would not be part of the branch, or commits it when the human says under which message. */
async function makeClean(
  ctx: AppContext,
  row: SessionRow,
  takeover: TakeoverRow,
  { folder, repository }: SessionFolder,
  message: string | undefined,
): Promise<Result<undefined>> {
  if (!repository) return ok();
  const facts = await inspectWorkFolder(ctx.forge, repository, folder, insideOf(ctx));
  if (!facts.ok) return facts;
  const { dirty, isClean, isOnBranch, headBranch } = facts.value;
  if (!isOnBranch)
    return refuse(
      'wrong-state',
      'other_branch',
      `The folder of ${row.work_key} is on ${forLog(headBranch ?? 'a detached HEAD', 80)}, but only ${folder.branch} is taken: bring your commits there (\`git switch ${folder.branch}\`), then hand back. The folder is ${folder.clone}.`,
      { branch: folder.branch ?? null },
    );
  if (isClean) return ok();
  if (message !== undefined) {
    const identity = { name: takeover.taken_by, email: 'wheel@humans.chantier.invalid' };
    return commitInFolder(repository, folder, insideOf(ctx), { identity, message });
  }
  const named = dirty.slice(0, 10).map((file) => forLog(file));
  return refuse(
    'wrong-state',
    'work_folder_dirty',
    `These files are not committed: ${named.join(', ')}${dirty.length > 10 ? ` and ${dirty.length - 10} more` : ''}. Commit or remove them in ${folder.clone}, or hand back with --commit "message".`,
    { files: dirty.slice(0, 50) },
  );
}
