import type { Command } from 'commander';

import type { LandingView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof, withSeen } from '../options.ts';
import { seenOf } from '../seen-change.ts';
import { checkLine } from '../show-check.ts';
import { oneLine } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('<number>', 'Number or id of the pull request');
  withSeen(command);
  withProof(command);
  context.action(command, async ({ args: [name = ''], options }) => {
    const { path, ...seen } = await seenOf(context, name, options);
    const landing = await context.decide<LandingView>('POST', `${path}/landings`, { wait: true, ...seen }, options);
    return { json: landing, text: textOf(landing), exitCode: exitCodeOf(landing) };
  });
}

function exitCodeOf({ state }: LandingView): number {
  if (state === 'landed') return 0;
  return state === 'refused' || state === 'failed' ? 10 : 11;
}

function textOf(landing: LandingView): string {
  const checkout = landing.checkout?.message ?? '';
  return [
    oneLine(landing.message, 300),
    ...landing.checks.map(checkLine),
    ...(landing.commit === null ? [] : [`commit ${landing.commit}`]),
    ...(landing.checkout === null
      ? []
      : [
          ...(landing.message.includes(checkout) ? [] : [oneLine(checkout, 300)]),
          ...(landing.checkout.command === null ? [] : [`  ${landing.checkout.command}`]),
        ]),
    ...landing.commands.map((command) => `  ${command}`),
  ].join('\n');
}
