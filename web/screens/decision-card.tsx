import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import type { DecisionView, SettledView, VerdictRequest } from '../../src/wire/index.ts';
import { freshProof, send } from '../api.ts';
import { Ago } from '../parts/time.tsx';
import { DecisionBody, isAboutChange, type Seen } from './decision-body.tsx';

const names: Record<string, string> = {
  escalation_answer: 'question',
  call_approval: 'call',
  capability_approval: 'capability',
  landing: 'landing',
  human_review: 'human review',
  repository_trust: 'trust',
  nothing_delivered: 'nothing delivered',
  attempts_exhausted: 'gave up',
  base_conflict: 'conflict',
  dead_letter: 'undelivered',
};

/** What a note does, where it does more than stand in the record. */
const notes: Readonly<Record<string, string>> = {
  landing: 'Note: with it, a refusal goes back to the author; without it the change is held',
  human_review: 'Note: with it, a refusal goes back to the author; without it the change is given up',
  nothing_delivered: 'Note (optional); approve = taken as done, refuse = try again',
  attempts_exhausted: 'Note (optional); approve = try again, refuse = cancel the task',
};

/** One open question to the human, with what is needed to decide it and the ways to settle it. */
export function DecisionCard({ decision, mayDecide }: { decision: DecisionView; mayDecide: boolean }) {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const [passphrase, setPassphrase] = useState('');
  const [seen, setSeen] = useState<Seen>();
  const settle = useMutation({
    mutationFn: async (verdict: VerdictRequest) => {
      const proof = decision.proof === 'fresh' ? await freshProof(passphrase) : undefined;
      return send<SettledView>('PUT', `/decisions/${decision.id}/verdict`, verdict, proof);
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const verdict = (kind: VerdictRequest['verdict']): VerdictRequest => ({
    verdict: kind,
    ...(kind === 'respond' ? { text } : text === '' ? {} : { note: text }),
    ...(seen && kind === 'approve' ? { head: seen.head } : {}),
  });
  const isAnswer = decision.verdicts.includes('respond');
  const isReady = mayDecide && !settle.isPending && (decision.proof !== 'fresh' || passphrase !== '');
  const mayApprove = isReady && (!isAboutChange(decision) || seen?.isWhole === true);
  return (
    <article className="card" aria-labelledby={`decision-${decision.id}`}>
      <p>
        <span className="tag">{names[decision.kind] ?? decision.kind}</span>
        <span className="tag">{decision.id}</span>
        <span className="muted">
          <Ago at={decision.createdAt} /> ago{decision.count > 1 && `, asked ${decision.count} times`}
        </span>
      </p>
      <h3 id={`decision-${decision.id}`}>{decision.title}</h3>
      <DecisionBody decision={decision} onSeen={setSeen} />
      <label htmlFor={`text-${decision.id}`}>{isAnswer ? 'Answer' : (notes[decision.kind] ?? 'Note (optional)')}</label>
      <textarea
        id={`text-${decision.id}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        disabled={!mayDecide}
      />
      {decision.proof === 'fresh' && (
        <>
          <label htmlFor={`proof-${decision.id}`}>Passphrase, for this one act</label>
          <input
            id={`proof-${decision.id}`}
            type="password"
            autoComplete="current-password"
            value={passphrase}
            onChange={(event) => setPassphrase(event.target.value)}
            disabled={!mayDecide}
          />
        </>
      )}
      <footer>
        {isAnswer && (
          <button
            className="primary"
            disabled={!isReady || text.trim() === ''}
            onClick={() => settle.mutate(verdict('respond'))}
          >
            Send answer
          </button>
        )}
        {decision.verdicts.includes('approve') && (
          <button className="primary" disabled={!mayApprove} onClick={() => settle.mutate(verdict('approve'))}>
            {decision.kind === 'landing' ? 'Land' : 'Approve'}
          </button>
        )}
        {decision.verdicts.includes('refuse') && (
          <button className="danger" disabled={!isReady} onClick={() => settle.mutate(verdict('refuse'))}>
            Refuse
          </button>
        )}
        {settle.error && (
          <span className="bad" role="alert">
            {settle.error.message}
          </span>
        )}
      </footer>
    </article>
  );
}
