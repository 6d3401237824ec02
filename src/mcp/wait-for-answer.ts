import { createHash } from 'node:crypto';

import type { QuestionView } from '../wire/index.ts';
import type { BridgeClient } from './bridge-client.ts';

/** Length of one wait at the server. */
const oneWaitMs = 30_000;
/** A sign of progress goes out before each wait, and so often meanwhile. */
const progressEveryMs = 8_000;
/** How long a call is held for a client that takes signs of progress, and for one that does not (some cut calls at 60 s). */
const heldMs = { withProgress: 60 * 60 * 1000, without: 50_000 };

/** One call that waits for a human. */
export interface WaitingCall {
  client: BridgeClient;
  signal: AbortSignal;
  /** Sends a sign of progress; absent when the client asked for none. */
  progress?: (message: string) => Promise<void>;
}

/** Asks and waits. Gives the text for the agent. */
export interface Questions {
  ask(call: WaitingCall, text: string): Promise<string>;
  wait(call: WaitingCall, question: string | undefined): Promise<string>;
}

/**
 * The questions of one agent process. A question keeps its key until it was answered: asked again with the same words, because
 * the client cut the call or the server went away, it is the same stored question.
 */
export function createQuestions(): Questions {
  const settledCount = new Map<string, number>();
  let latest: string | undefined;

  const follow = async (call: WaitingCall, first: QuestionView): Promise<string> => {
    let question = first;
    const giveUpAt = performance.now() + (call.progress ? heldMs.withProgress : heldMs.without);
    const show = (): void => void call.progress?.('Waiting for the human.');
    const showing = setInterval(show, progressEveryMs);
    try {
      while (question.status === 'OPEN' && performance.now() < giveUpAt) {
        show();
        const waitMs = Math.ceil(Math.min(oneWaitMs, Math.max(0, giveUpAt - performance.now())));
        question = await call.client.send<QuestionView>({
          method: 'GET',
          path: `/api/agent/questions/${encodeURIComponent(question.id)}?waitMs=${waitMs}`,
          key: '',
          signal: call.signal,
          onAway: () => void call.progress?.('The server is away; the question is kept.'),
        });
      }
    } finally {
      clearInterval(showing);
    }
    return textOf(question);
  };

  return {
    async ask(call, text) {
      const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
      const question = await call.client.send<QuestionView>({
        method: 'POST',
        path: '/api/agent/questions',
        body: { text },
        key: `ask:${digest}:${settledCount.get(digest) ?? 0}`,
        signal: call.signal,
        onAway: () => void call.progress?.('The server is away; trying again.'),
      });
      latest = question.id;
      const answer = await follow(call, question);
      if (!answer.startsWith(noAnswerYet)) settledCount.set(digest, (settledCount.get(digest) ?? 0) + 1);
      return answer;
    },
    wait: (call, question) =>
      follow(call, { id: question ?? latest ?? 'latest', status: 'OPEN', answer: null, closeReason: null }),
  };
}

const noAnswerYet = 'NO ANSWER YET';

function textOf(question: QuestionView): string {
  if (question.status === 'ANSWERED') return `ANSWER: ${question.answer ?? ''}`;
  if (question.status === 'CLOSED')
    return `The question was closed without an answer (${question.closeReason ?? 'no reason given'}).`;
  return `${noAnswerYet}: the question ${question.id} is still open. Call wait_answer to wait on. Do not go on without the answer where it matters.`;
}
