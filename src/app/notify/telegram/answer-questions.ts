import { say, type Turn } from './conversation.ts';
import { readDecision, settleByPhone, showDecision } from './settle-by-phone.ts';
import { decisionsOfMessage, decisionsOfText } from './sent-messages.ts';

/** A reply answers the question of the message it replies to; of several questions in their order (S-32). */
export async function answerByReply(
  turn: Turn,
  reply: { to: number; toText?: string | undefined; text: string; messageId: number },
): Promise<void> {
  const owner = turn.owner.telegramId;
  const recorded = await decisionsOfMessage(turn.ctx, owner, reply.to);
  const ids = recorded ?? (await decisionsOfText(turn.ctx, owner, reply.toText ?? ''));
  const [first] = ids ?? [];
  const decision = first === undefined ? undefined : await readDecision(turn.ctx, first);
  if (!ids || !decision) {
    await say(
      turn,
      'This reply belongs to no question. Reply to the message of a question; /pending lists what is open.',
    );
    return;
  }
  if (decision.kind !== 'escalation_answer') {
    await say(turn, 'This is no question: press one of its buttons, or look where it says.', reply.messageId);
    return;
  }
  const answers = splitAnswers(reply.text, ids.length);
  const told: string[] = [];
  for (const [index, text] of answers.entries()) {
    const outcome = await settleByPhone(
      turn,
      ids[index]!,
      { verdict: 'respond', text },
      index === 0 ? '' : `-${index + 1}`,
    );
    const label = answers.length > 1 ? `${index + 1}. ` : '';
    told.push(`${label}${outcome.text}${outcome.isDone || !outcome.isClosed ? '' : ' Your text was not sent.'}`);
    if (!outcome.isDone) break;
  }
  await say(turn, told.join('\n'), reply.messageId);
  // What is still open, oldest first: also where an older question stands in the way.
  await showDecision(turn, decision);
}

/**
 * `1. … 2. …` at the beginnings of lines, from 1 on without a gap and not more than there are questions: an answer each.
 * Anything else is one answer, as it is.
 */
export function splitAnswers(text: string, questions: number): string[] {
  if (questions < 2 || !/^1[.):]\s/.test(text)) return [text];
  const answers: string[] = [];
  for (const line of text.split('\n')) {
    const match = /^(\d{1,2})[.):]\s+(.*)$/.exec(line);
    if (match && Number(match[1]) === answers.length + 1 && answers.length < questions) answers.push(match[2] ?? '');
    else answers[answers.length - 1] += `\n${line}`;
  }
  return answers.map((answer) => answer.trim());
}
