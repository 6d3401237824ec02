import { describe, expect, it } from 'vitest';

import type { DecisionView } from '../wire/index.ts';
import { describeDecision, waysToSettle } from './show-decision.ts';

function decision(kind: string, detail: DecisionView['detail'], more: Partial<DecisionView> = {}): DecisionView {
  return {
    id: '7k2m9qxa',
    kind,
    subject: { kind: 'task', id: '01a22e71-bbc0-7e7b-a8ca-b73c8f52e938' },
    projectId: null,
    sessionId: null,
    count: 1,
    title: 'Title',
    detail,
    verdicts: kind === 'escalation_answer' ? ['respond'] : ['approve', 'refuse'],
    proof: 'standing',
    state: 'open',
    outcome: null,
    settledBy: null,
    createdAt: '2026-01-31T12:00:00.000Z',
    settledAt: null,
    ...more,
  };
}

describe('how a decision is settled', () => {
  it('names commands that can be typed: work key, number or id', () => {
    expect(waysToSettle(decision('escalation_answer', { work_key: 'shop/fix' }))).toEqual(['respond shop/fix "…"']);
    expect(waysToSettle(decision('landing', { number: 3 }))).toEqual(['land 3', 'refuse 7k2m9qxa']);
    expect(waysToSettle(decision('human_review', { number: 3 }))[1]).toBe('human retry 3');
    expect(waysToSettle(decision('call_approval', {}))).toEqual(['approve 7k2m9qxa', 'refuse 7k2m9qxa']);
    expect(waysToSettle(decision('landing', { number: 3 }, { state: 'settled', outcome: 'approved' }))).toEqual([]);
  });
});

describe('a decision as text', () => {
  it('shows the whole question, harmless for a terminal', () => {
    const text = `${'why '.repeat(60)}\nsecond line \u001b[31m`;
    const shown = describeDecision(decision('escalation_answer', { work_key: 'shop/fix', text }));
    expect(shown).toContain(`${'why '.repeat(60)}\nsecond line \\u{1b}[31m`);
    expect(shown).toContain('  chantier respond shop/fix "…"');
  });

  it('shows what an agent said last before its starts ended, below its failure', () => {
    const failures = [
      { session: 'x', agent: 'turing', state: 'START_FAILED', reason: 'exited', errors: 'cannot\nfind it\n' },
    ];
    const shown = describeDecision(decision('attempts_exhausted', { attempts: 3, task: 'x', failures }));
    expect(shown).toContain(
      'failures:\n  agent: turing\n  state: START_FAILED\n  reason: exited\n  errors:\n    cannot\n    find it',
    );
  });

  it('says that a call which cannot be shown whole can only be refused', () => {
    const shown = describeDecision(
      decision('call_approval', { isApprovable: false, preview: { text: 'command: x', hash: 'abc' } }),
    );
    expect(shown).toContain('\n  command: x\nIt cannot be shown whole, so it can only be refused.');
    expect(shown).not.toContain('abc');
  });
});
