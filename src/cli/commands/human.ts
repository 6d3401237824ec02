import type { Command } from 'commander';

import type { PullRequestView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { oneLine } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  for (const [act, what] of [
    ['approve', 'Approve a change that waits for a human'],
    ['retry', 'Give the change back to agents'],
    ['abandon', 'Close the change without landing'],
  ] as const) {
    const verb = command
      .command(act)
      .description(what)
      .argument('<number>', 'Number or id of the pull request')
      .option('--note <text>', 'Why, or what is to be done');
    withProof(verb);
    context.action(verb, async ({ args: [name = ''], options }) => {
      const path = `/api/pull-requests/${encodeURIComponent(name.replace(/^#/, ''))}/human-review`;
      const body = { act, ...(options.note === undefined ? {} : { note: options.note }) };
      const done = await context.decide<PullRequestView>('PUT', path, body, options);
      return { json: done, text: `#${done.number}: ${done.state}. ${oneLine(done.waitsFor, 200)}` };
    });
  }
}
