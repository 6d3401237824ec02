import { lastHandback, type Session, waitingTexts } from '../../sessions/index.ts';
import { listCommits, patchOf, type Repository } from '../../forge/index.ts';
import type { AppContext } from '../context.ts';
import { handbackBrief } from '../briefs/handback-brief.ts';

/** So much of a human's change stands in the prompt (bytes); the agent has the whole in its clone. */
const maxPatchBytes = 30_000;

/** Empty when there is nothing to say. */
export interface HandbackContext {
  handedBack?: string;
  /** Texts told meanwhile, which stand in it. */
  foldedPrompts?: string[];
}

/**
 * What a human did at the wheel, as words for the agent. A resumed conversation hears it once, in the generation that the
 * handback started; a fresh one (the conversation was lost, or the session after it) always.
 */
export async function handbackContext(
  ctx: AppContext,
  session: Session,
  repository: Repository | undefined,
): Promise<HandbackContext> {
  const sharing = await ctx.store.read
    .selectFrom('session')
    .select('id')
    .where((eb) => eb.or([eb('id', '=', session.folderKey), eb('folder_key', '=', session.folderKey)]))
    .execute();
  const handback = await lastHandback(
    ctx.store.read,
    sharing.map((row) => row.id),
  );
  if (!handback) return {};
  const isFresh = session.resumeConversationId === null;
  const isItsOwn = handback.session_id === session.id && handback.resumed_generation === session.generation;
  if (!isFresh && !isItsOwn) return {};
  const { start_commit: from, end_commit: to } = handback;
  const isChanged = repository !== undefined && from !== null && to !== null && from !== to;
  const range = isChanged ? { from, to } : undefined;
  const commits = range ? await listCommits(ctx.forge, repository!, range.from, range.to) : [];
  // After a rewritten branch the difference of the two ends is what can be shown.
  const patch = range
    ? await patchOf(ctx.forge, repository!, range.from, range.to, { maxBytes: maxPatchBytes })
    : { text: '', isCut: false };
  const told = await waitingTexts(ctx.store.read, session.id);
  const handedBack = handbackBrief({
    commits,
    patch: patch.text,
    isPatchCut: patch.isCut,
    ...(range ? { range } : {}),
    note: handback.note ?? '',
    told: told.map((prompt) => prompt.text),
  });
  return { handedBack, foldedPrompts: told.map((prompt) => prompt.id) };
}
