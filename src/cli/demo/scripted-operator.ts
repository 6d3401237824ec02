import type { DecisionView, Page, VerdictRequest } from '../../wire/index.ts';
import type { DemoInstance } from './demo-instance.ts';

/** What the scripted operator of `--unattended` says to each kind of decision; a human decides the same in the console. */
const answers: Readonly<Record<string, VerdictRequest>> = {
  escalation_answer: { verdict: 'respond', text: 'Good day' },
  call_approval: { verdict: 'refuse', note: 'Nothing is pushed from here; the review goes its usual way.' },
  landing: { verdict: 'approve' },
};

/** Decides what waits now, with a proof for each; gives what was decided. */
export async function decideWhatWaits(instance: DemoInstance): Promise<DecisionView[]> {
  const open = await instance.client.send<Page<DecisionView>>('GET', '/api/decisions');
  const decided: DecisionView[] = [];
  for (const decision of open.items) {
    const verdict = answers[decision.kind];
    if (!verdict) continue;
    await instance.client.send('PUT', `/api/decisions/${decision.id}/verdict`, {
      body: verdict,
      proof: await instance.proof(),
    });
    decided.push(decision);
  }
  return decided;
}
