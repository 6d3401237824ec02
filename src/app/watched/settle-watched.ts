import { ok, refuse, type Result } from '../../kernel/index.ts';
import { answerWatched } from '../../sessions/index.ts';
import type { DecisionRequestRow, Tx } from '../../store/index.ts';
import type { VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';

/** Settles what a watched session waits for: a permission by yes or no, a question by words. */
export async function settleWatched(
  tx: Tx,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  const isYes = verdict.verdict !== 'refuse';
  if (verdict.verdict === 'respond' && (verdict.text ?? '').trim() === '')
    return refuse('invalid', 'answer_missing', `Say what the answer to ${decision.id} is.`, { id: decision.id });
  const { isApprovable } = JSON.parse(decision.detail) as { isApprovable?: boolean };
  if (isYes && isApprovable === false)
    return refuse(
      'invalid',
      'preview_incomplete',
      `Decision ${decision.id} cannot be shown whole, so it cannot be approved here; answer it in the agent's own terminal.`,
      { id: decision.id },
    );
  const reason = verdict.note;
  const answered = await answerWatched(tx, {
    requestId: decision.subject_id,
    answer: isYes
      ? { allow: true, ...(verdict.verdict === 'respond' ? { text: verdict.text ?? '' } : {}) }
      : { allow: false, ...(reason === undefined ? {} : { reason }) },
    actor: caller.actor,
  });
  return answered.ok ? ok({ message: 'The agent in that terminal gets your answer.' }) : answered;
}
