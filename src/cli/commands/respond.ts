import type { Command } from 'commander';

import type { EscalationView, SettledView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { withNotice } from '../show.ts';

/** As `pending` names questions; a work key has a slash or a dash. */
const decisionId = /^[0-9a-z]{8}$/;

export function define(command: Command, context: CliContext): void {
  withProof(
    command
      .argument('<session>', 'Work key or id of the session (its oldest question), or id of the decision')
      .argument('<text>', 'The answer; - reads it from stdin'),
  );
  context.action(command, async ({ args: [session = '', given = ''], options }) => {
    const text = await context.textOf(given);
    if (decisionId.test(session)) {
      const verdict = { verdict: 'respond', text };
      const settled = await context.decide<SettledView>('PUT', `/api/decisions/${session}/verdict`, verdict, options);
      return { json: settled, text: settled.message };
    }
    const path = `/api/sessions/${encodeURIComponent(session)}/answers`;
    const answered = await context.decide<EscalationView>('POST', path, { text }, options);
    const state = answered.delivery === 'delivered' ? 'delivered' : 'stored, delivery pending';
    return { json: answered, text: withNotice(`${answered.workKey}: answer ${state}.`, answered.notice) };
  });
}
