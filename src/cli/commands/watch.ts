import { join } from 'node:path';

import type { Command } from 'commander';

import type { StatusView } from '../../wire/index.ts';
import { refuseInsideAgent } from '../autostart.ts';
import type { CliContext } from '../context.ts';
import { failWith } from '../outcome.ts';
import { askLine } from '../passphrase.ts';
import { table, visible } from '../show.ts';
import { watchableAgents } from '../watch/agents.ts';
import { installHooks, isInstalled, planHooks, removeHooks } from '../watch/hook-file.ts';
import { reportHook } from '../watch/report.ts';

const known = Object.keys(watchableAgents);

export function define(command: Command, context: CliContext): void {
  context.action(command, async () => showWatched(context));
  const install = command
    .command('install')
    .description('Put hooks into the agents’ own settings, so that sessions started by hand appear here')
    .argument('[agents...]', `Of ${known.join(', ')}; default: all`)
    .option('--yes', 'Do not ask');
  context.action(install, async ({ args, options }) => {
    refuseInsideAgent(context.io.env);
    const done: { agent: string; file: string }[] = [];
    const lines: string[] = [];
    for (const agent of chosen(args)) {
      if (isInstalled(context.paths.home, agent) === true) {
        lines.push(`${agent}: watched already.`);
        continue;
      }
      const file = await installFor(context, agent, options.yes === true);
      if (file === undefined) {
        lines.push(`${agent}: nothing was changed.`);
        continue;
      }
      const { can, afterwards } = watchableAgents[agent]!;
      done.push({ agent, file });
      lines.push(`${agent}: sessions that start from now on appear in "chantier status". ${can}`);
      if (afterwards !== undefined) lines.push(`  ${afterwards}`);
    }
    return { json: { installed: done }, text: lines.join('\n') };
  });
  const remove = command
    .command('remove')
    .description('Take the hooks out again; files that nobody changed since get their old bytes back')
    .argument('[agents...]', `Of ${known.join(', ')}; default: all`)
    // Nothing is asked here: a script that gives it to `install` may give it to both.
    .option('--yes', 'Accepted as in "install"; taking them out asks nothing');
  context.action(remove, async ({ args }) => {
    const removed = chosen(args).map((agent) => ({ agent, outcome: removeHooks(context.paths.home, agent) }));
    const words = {
      'not-installed': 'was not watched.',
      restored: 'the file is as it was.',
      'taken-out': 'our hooks are out; what else was changed in the file since stays.',
    };
    return { json: { removed }, text: removed.map(({ agent, outcome }) => `${agent}: ${words[outcome]}`).join('\n') };
  });
  const report = command
    .command('report', { hidden: true })
    .description('What the hooks run; reads the hook’s input from stdin')
    .argument('<agent>', known.join(', '));
  context.action(report, async ({ args: [agent = ''] }) => {
    const text = await reportHook(context, agent);
    return { json: text === '' ? null : (JSON.parse(text) as unknown), text };
  });
}

async function showWatched(context: CliContext): Promise<{ json: unknown; text: string }> {
  const hooks = known.map((agent) => ({
    agent,
    installed: isInstalled(context.paths.home, agent) === true,
    file: watchableAgents[agent]!.file(context.io.env),
  }));
  const { watched } = await context.get<StatusView>('/api/status');
  const text = table(
    ['AGENT', 'HOOKS', 'FILE', 'SESSIONS'],
    hooks.map(({ agent, installed, file }) => [
      agent,
      installed ? 'installed' : 'not installed',
      visible(file),
      watched.filter((session) => session.agent === agent).length,
    ]),
  );
  return {
    json: { hooks, watched },
    text: `${text}\n"chantier watch install" and "chantier watch remove" change that.`,
  };
}

/** Shows what is added, asks, writes; gives the file, or `undefined` when the human said no. */
async function installFor(context: CliContext, agent: string, isAgreed: boolean): Promise<string | undefined> {
  const { home } = context.paths;
  const { file, hooks } = watchableAgents[agent]!;
  if (isInstalled(home, agent) === false) removeHooks(home, agent);
  const command = await commandOf(context, agent);
  const change = planHooks(file(context.io.env), hooks, command);
  const events = hooks.map(({ event }) => event).join(', ');
  context.io.err(
    `${visible(change.file)}${change.before === null ? ' (new)' : ''}: ${events} run\n  ${visible(command)}\n`,
  );
  if (!isAgreed) {
    if (!context.io.hasTerminal())
      throw failWith('invalid', 'not_agreed', 'This changes a file of yours: run it at a terminal, or give --yes.');
    const answer = await askLine('Write it? [y/N]: ', context.io.err);
    if (!/^y(es)?$/i.test(answer.trim())) return undefined;
  }
  installHooks(home, agent, change, command);
  return change.file;
}

/** The command line of the hooks: this program by its absolute path, on this home. */
async function commandOf(context: CliContext, agent: string): Promise<string> {
  const { packageRoot } = await import('../../package-files.ts');
  const program = quoted(join(packageRoot, 'bin', 'chantier'));
  return `CHANTIER_HOME=${quoted(context.paths.home)} ${program} watch report ${agent}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function chosen(agents: readonly string[]): readonly string[] {
  for (const agent of agents)
    if (!known.includes(agent))
      throw failWith(
        'invalid',
        'unknown_agent',
        `${visible(agent)} cannot be watched; these can: ${known.join(', ')}.`,
      );
  return agents.length === 0 ? known : agents;
}
