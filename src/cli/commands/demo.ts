import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { Command } from 'commander';

import { refuseInsideAgent } from '../autostart.ts';
import type { CliContext } from '../context.ts';
import { failWith } from '../outcome.ts';

export function define(command: Command, context: CliContext): void {
  command.option('--unattended', 'A scripted operator decides; else you do, in the console');
  context.action(command, async ({ options }) => {
    refuseInsideAgent(context.io.env);
    const { runDemo } = await import('../demo/run-demo.ts');
    const result = await runDemo({
      unattended: options.unattended === true,
      env: context.io.env,
      agents: agentsFolder(),
      signal: context.io.signal,
      say: (line) => context.io.err(`${line}\n`),
    });
    const failed = result.steps.filter((step) => !step.ok);
    const text =
      failed.length === 0
        ? `\nLanded as ${result.commit?.slice(0, 12)} on ${result.base} of ${result.repository}. The folder is kept.`
        : `\n${failed.length} of ${result.steps.length} steps did not happen. The folder is kept: ${result.repository}`;
    const json = { ...result, steps: result.steps.map(({ name, ok }) => ({ name, ok })) };
    return { json, text, exitCode: failed.length === 0 ? 0 : 10 };
  });
}

/** `examples/agents` of the package this program belongs to. */
function agentsFolder(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const agents = join(folder, 'examples', 'agents');
    if (existsSync(join(agents, 'demo-author.mjs'))) return agents;
  }
  throw failWith(
    'not-found',
    'demo_agents_missing',
    'The package is incomplete: examples/agents is missing. Install it again.',
  );
}
