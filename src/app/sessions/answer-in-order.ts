import { ok, type Result, sha256 } from '../../kernel/index.ts';
import { executeCommand, listEscalations } from '../../sessions/index.ts';
import type { AnswerBatch, AnsweredBatchView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { rowOf } from './find-row.ts';
import { escalationView } from './views.ts';

type AnswerResult = AnsweredBatchView['results'][number];

const notTried: AnswerResult = {
  outcome: 'not-tried',
  escalation: null,
  code: null,
  message: 'An answer before it was refused.',
};

/**
 * Answers open questions of one session, oldest first (S-32). Each answer is a `respond` of its own under a key derived from
 * the visit's: stored whole or not at all, and repeated with the same key nothing is answered twice. The first that is
 * refused ends the visit, since what follows would answer another question.
 */
export async function answerInOrder(
  ctx: AppContext,
  caller: Caller,
  session: string,
  batch: AnswerBatch,
): Promise<Result<AnsweredBatchView>> {
  const row = await rowOf(ctx.store.read, session);
  if (!row.ok) return row;
  const { id, work_key: workKey } = row.value;
  const results: AnswerResult[] = [];
  for (const [at, { text, question }] of batch.answers.entries()) {
    if (results.at(-1)?.outcome === 'refused' || results.at(-1)?.outcome === 'not-tried') {
      results.push(notTried);
      continue;
    }
    const answer = await executeCommand(ctx.sessions, ctx.broker, caller, 'respond', {
      workKey,
      text,
      key: sha256(`${caller.idempotencyKey}:answer:${at}`),
      ...(question === undefined ? {} : { escalationId: question }),
    });
    if (!answer.ok) {
      const { code, message } = answer.refusal;
      results.push({ outcome: 'refused', escalation: null, code, message });
      continue;
    }
    if (answer.value.kind !== 'done') throw new Error(`respond gave ${answer.value.kind}`);
    const answered = answer.value.result.value.escalation_id;
    const all = await listEscalations(ctx.store.read, { sessionId: id, includeClosed: true, limit: 1000 });
    const escalation = all.find((each) => each.escalation_id === answered);
    results.push({
      outcome: 'answered',
      escalation: escalation ? escalationView(escalation) : null,
      code: null,
      message: `Question ${answered} is answered.`,
    });
  }
  const open = await listEscalations(ctx.store.read, { sessionId: id });
  return ok({
    results,
    answered: results.filter((result) => result.outcome === 'answered').length,
    open: open.length,
  });
}
