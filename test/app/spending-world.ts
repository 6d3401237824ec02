import { sessionWorld } from '../../src/sessions/testing.ts';
import { builtInPrices, type Spender, type SpendingContext, type SpendingSettings } from '../../src/spending/index.ts';
import type { Store } from '../../src/store/index.ts';

/** Budgets and prices of one test, over real sessions. */
export function spendingWorld(store: Store, given: Partial<SpendingSettings> = {}) {
  const none = { tokens: null, micros: null };
  const settings: SpendingSettings = {
    day: none,
    project: none,
    task: none,
    planBasisPoints: null,
    timeZone: 'UTC',
    billing: new Map(),
    ...given,
  };
  const ctx: SpendingContext = { settings: () => settings, prices: () => builtInPrices };
  const sessions = sessionWorld(store);
  let count = 0;
  return {
    ctx,
    sessions,
    settings,
    /** A running session that works on task `t-1` of project `p-1` unless told otherwise. */
    async spender(more: Partial<Spender> = {}): Promise<Spender> {
      const holder = await sessions.running(`PD-${(count += 1)}`);
      return {
        sessionId: holder.sessionId,
        generation: 1,
        agent: 'turing',
        role: 'author',
        projectId: 'p-1',
        taskId: 't-1',
        pullRequestId: null,
        conversationId: null,
        resumesConversation: null,
        ...more,
      };
    },
    async events(kind: string) {
      return sessions.events(kind);
    },
  };
}

/** A turn of the test's agent. */
export const turn = (id: string) => ({ id, kind: 'brief' });
