import { decisionKinds, type DecisionKind, type DecisionRequestRow, readRunningServer } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import type { Receiver } from './channel.ts';
import { describeAlert } from './describe-alert.ts';
import type { Letter, Part } from './letter.ts';
import type { Planned, PlannedPart } from './plan-message.ts';
import { buttonsOf, textOf, wayToDecide } from './show-decision.ts';

/** So many questions of one session stand in one message. */
const maxListed = 8;
/** So many lines of a message about several things; the rest is counted. */
const maxLines = 25;

/** What a planned message says now, or `undefined` when nothing of it is open any more. */
export async function writeLetter(ctx: AppContext, receiver: Receiver, message: Planned): Promise<Letter | undefined> {
  const open = await readOpen(ctx, message.parts);
  const parts = message.parts.filter(
    (part) => part.subject.startsWith('alert:') || part.decisionIds.some((id) => open.has(id)),
  );
  const [only] = parts;
  if (!only) return undefined;
  const base = { key: message.key, link: linkOf(ctx), at: ctx.store.clock.now() };
  if (message.parts.length > 1) return { ...base, ...(await summarise(ctx, parts, open)) };
  if (only.subject.startsWith('alert:')) return { ...base, ...(await alertLetter(ctx, only)) };
  const decisions = only.decisionIds.flatMap((id) => open.get(id) ?? []);
  const letter = decisionLetter(receiver, decisions, { subject: only.subject, isReminder: only.isReminder });
  if (!message.isRepeated || letter.decisions.length === 0) return { ...base, ...letter };
  // Nobody knows whether the first try arrived; should both be there, they must not look like two questions.
  return { ...base, ...letter, parts: [{ ours: sentAgain }, ...letter.parts] };
}

const sentAgain = 'Sent again: the same may have arrived before. Whichever you answer, it is answered once.';

/** A letter about decisions of one subject: the questions of a session in the order in which they can be answered, or one decision. */
export function decisionLetter(
  receiver: Pick<Receiver, 'carriesTexts' | 'canAnswer'>,
  decisions: readonly DecisionRequestRow[],
  about: { subject: string; isReminder: boolean },
): Omit<Letter, 'key' | 'link' | 'at'> {
  const [first] = decisions as [DecisionRequestRow];
  const isQuestion = first.kind === 'escalation_answer';
  // The oldest have to be answered first anyway (S-32).
  const listed = decisions.slice(0, maxListed);
  const parts: Part[] = listed.flatMap((decision, index) => {
    const number = decisions.length > 1 ? `${index + 1}. ` : '';
    const meaning = isQuestion ? '' : `: ${decisionKinds[decision.kind as DecisionKind]}`;
    return [{ ours: `${number}${decision.id}${meaning}` }, ...(receiver.carriesTexts ? textOf(decision) : [])];
  });
  if (listed.length < decisions.length) parts.push({ ours: `… and ${decisions.length - listed.length} more` });
  const buttons = receiver.canAnswer && !isQuestion ? buttonsOf(first, receiver.carriesTexts) : [];
  parts.push({ ours: wayToDecide(decisions, receiver, buttons.length > 0) });
  return {
    subject: about.subject,
    kind: isQuestion ? 'question' : 'decision',
    isReminder: about.isReminder,
    priority: 'high',
    title: `${about.isReminder ? 'Still open: ' : ''}${titleOf(decisions)}`,
    parts,
    buttons,
    decisions: receiver.canAnswer ? listed.map((decision) => decision.id) : [],
  };
}

/** One line of our own words: kinds, ids and names that have a strict form, never a text of an agent. */
function titleOf(decisions: readonly DecisionRequestRow[]): string {
  const [first] = decisions as [DecisionRequestRow];
  const detail = JSON.parse(first.detail) as { work_key?: string };
  if (first.kind === 'escalation_answer') {
    const from = detail.work_key ?? 'a session';
    return decisions.length === 1 ? `Question from ${from}` : `${decisions.length} questions from ${from}`;
  }
  return `Decision ${first.id}: ${first.kind.replaceAll('_', ' ')}`;
}

async function alertLetter(ctx: AppContext, part: PlannedPart): Promise<Omit<Letter, 'key' | 'link' | 'at'>> {
  const line = await describeAlert(ctx, part.subject);
  return {
    subject: part.subject,
    kind: 'alert',
    isReminder: false,
    priority: part.isCritical ? 'urgent' : 'high',
    title: line.title,
    parts: [{ ours: line.text }],
    buttons: [],
    decisions: [],
  };
}

/** Several things due at once are one message: what and where, without texts or buttons. */
async function summarise(
  ctx: AppContext,
  parts: readonly PlannedPart[],
  open: ReadonlyMap<string, DecisionRequestRow>,
): Promise<Omit<Letter, 'key' | 'link' | 'at'>> {
  const lines = await Promise.all(
    parts.slice(0, maxLines).map(async (part) => {
      if (part.subject.startsWith('alert:')) return `• ${(await describeAlert(ctx, part.subject)).title}`;
      const decisions = part.decisionIds.flatMap((id) => open.get(id) ?? []);
      return `• ${titleOf(decisions)}`;
    }),
  );
  const more = parts.length - lines.length;
  if (more > 0) lines.push(`… and ${more} more`);
  const isUrgent = parts.some((part) => part.isCritical);
  return {
    subject: 'several',
    kind: 'summary',
    isReminder: parts.every((part) => part.isReminder),
    priority: isUrgent ? 'urgent' : 'high',
    title: `${parts.length} things to look at`,
    parts: [{ ours: lines.join('\n') }, { ours: 'All of them: /pending here, "chantier pending", or the console.' }],
    buttons: [],
    decisions: [],
  };
}

async function readOpen(ctx: AppContext, parts: readonly PlannedPart[]): Promise<Map<string, DecisionRequestRow>> {
  const ids = parts.flatMap((part) => part.decisionIds);
  if (ids.length === 0) return new Map();
  const rows = await ctx.store.read
    .selectFrom('decision_request')
    .selectAll()
    .where('id', 'in', ids)
    .where('state', '=', 'open')
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Where the console is: as the operator says it is reached, else its address on this machine. */
export function linkOf(ctx: Pick<AppContext, 'config' | 'paths'>): string {
  return ctx.config.get('notify.link') || readRunningServer(ctx.paths)?.address || 'http://127.0.0.1:4747';
}
