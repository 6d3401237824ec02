import type { Command } from 'commander';

import type { PullRequestView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof, withSeen } from '../options.ts';
import { pathOf, seenOf } from '../seen-change.ts';
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
    if (act === 'approve') withSeen(verb);
    withProof(verb);
    context.action(verb, async ({ args: [name = ''], options }) => {
      const seen = act === 'approve' ? await seenOf(context, name, options) : { path: pathOf(name) };
      const { path, ...facts } = seen;
      const body = { act, ...(options.note === undefined ? {} : { note: options.note }), ...facts };
      const done = await context.decide<PullRequestView>('PUT', `${path}/human-review`, body, options);
      return { json: done, text: `#${done.number}: ${done.state}. ${oneLine(done.waitsFor, 200)}` };
    });
  }
}
