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
  provider_limit: 'provider limit',
};

/** What yes and no do, where that is more than yes and no. */
const labels: Readonly<Record<string, { approve: string; refuse: string }>> = {
  landing: { approve: 'Land', refuse: 'Refuse' },
  nothing_delivered: { approve: 'Take it as done', refuse: 'Try again' },
  attempts_exhausted: { approve: 'Try again', refuse: 'Cancel the task' },
  dead_letter: { approve: 'Try again', refuse: 'Drop it' },
};

/** What a note does, where it does more than stand in the record. */
const notes: Readonly<Record<string, string>> = {
  landing: 'Note: with it, a refusal goes back to the author; without it the change is held',
  human_review: 'Note: with it, a refusal goes back to the author; without it the change is given up',
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
        <span className="tag">{names[decision.kind] ?? decision.kind.replaceAll('_', ' ')}</span>
        <span className="tag">{decision.id}</span>
        <span className="muted">
          <Ago at={decision.createdAt} /> ago{decision.count > 1 && `, asked ${decision.count} times`}
        </span>
      </p>
      <h3 id={`decision-${decision.id}`}>{headOf(decision)}</h3>
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
            {labels[decision.kind]?.approve ?? 'Approve'}
          </button>
        )}
        {decision.verdicts.includes('refuse') && (
          <button className="danger" disabled={!isReady} onClick={() => settle.mutate(verdict('refuse'))}>
            {labels[decision.kind]?.refuse ?? 'Refuse'}
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

/** Who asks stands above a question, which is shown whole below; every other decision has a title of its own. */
function headOf({ kind, title, detail }: DecisionView): string {
  const { agent, work_key: workKey } = (detail ?? {}) as { agent?: unknown; work_key?: unknown };
  if (kind !== 'escalation_answer' || typeof agent !== 'string') return title;
  return `${agent} asks${typeof workKey === 'string' ? ` in ${workKey}` : ''}`;
}
