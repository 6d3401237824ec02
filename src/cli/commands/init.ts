import { resolve } from 'node:path';

import type { Command } from 'commander';

import type { DetectionView, InitView, RepositoryView } from '../../wire/index.ts';
import { refuseInsideAgent } from '../autostart.ts';
import type { CliContext, CommonOptions } from '../context.ts';
import { ensureOperator } from '../first-run.ts';
import { CommandFailure, failWith } from '../outcome.ts';
import { withProof } from '../options.ts';
import { askLine } from '../passphrase.ts';
import { describeDetection } from '../show-repository.ts';
import { writeRepositoryFile } from '../write-repository-file.ts';

interface InitOptions extends CommonOptions {
  phase?: string;
  sandbox?: string;
  maxActive?: string;
}

export function define(command: Command, context: CliContext): void {
  command
    .argument('[path]', 'A checkout to register too (default: the current folder, if it is one, after asking)')
    .option('--phase <n>', 'Operating phase, 1 to 4; 3 lets agents work and asks at crossings')
    .option('--sandbox <mode>', 'auto, or none: then "no agent can decide" does not hold')
    .option('--max-active <n>', 'How many author sessions at once')
    .option('--write', 'Write what was detected as chantier.yml into the checkout');
  withProof(command);
  context.action(command, async ({ args: [path], options }) => {
    refuseInsideAgent(context.io.env);
    const given = options as InitOptions;
    const { created } = await ensureOperator(context, given);
    const detection = await detect(context, path);
    const file = options.write === true && detection ? await writeRepositoryFile(detection) : undefined;
    const setup = { ...(await settingsOf(context, given, created)), ...agentsOf(detection) };
    const view = await context.decide<InitView>('PUT', '/api/instance/setup', setup, { ...given, fresh: true });
    if (detection) context.io.err(`${describeDetection(detection)}\n`);
    const repository = detection && (await registerIfWanted(context, detection, path !== undefined, given));
    const lines = [
      `${created ? 'The operator is set. ' : ''}Phase ${view.phase}. ${view.sandbox.message}`,
      ...(view.agents.length > 0 ? [`Agents: ${view.agents.join(', ')}.`] : []),
      ...(repository ? [`Repository ${repository.name} (${repository.mode}).`] : []),
      ...(file === undefined ? [] : [`Wrote ${file}; it holds once it is committed on the base.`]),
      ...view.next,
    ];
    return { json: { ...view, operatorCreated: created, repository: repository ?? null }, text: lines.join('\n') };
  });
}

async function settingsOf(
  context: CliContext,
  options: InitOptions,
  created: boolean,
): Promise<Record<string, unknown>> {
  const phase = options.phase ?? (created && context.io.hasTerminal() ? await askPhase(context) : undefined);
  return {
    ...(phase === undefined ? {} : { phase: wholeNumber('--phase', phase) }),
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
    ...(options.maxActive === undefined ? {} : { maxActive: wholeNumber('--max-active', options.maxActive) }),
  };
}

async function askPhase(context: CliContext): Promise<string> {
  const answer = await askLine(
    'Operating phase: 1 nothing writes, 2 writes are judged, 3 and you are told, 4 and agents may extend themselves [3]: ',
    context.io.err,
  );
  return answer.trim() || '3';
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw failWith('invalid', 'usage', `${name} takes a whole number, not ${text}.`);
  return Number(text);
}

/** What is in the folder; `undefined` when no path was named and the folder is no checkout. */
async function detect(context: CliContext, path: string | undefined): Promise<DetectionView | undefined> {
  try {
    const body = { path: resolve(context.io.cwd, path ?? '.') };
    return await context.client().send<DetectionView>('POST', '/api/detections', { body });
  } catch (error) {
    if (path === undefined && error instanceof CommandFailure && error.exitCode !== 7) return undefined;
    throw error;
  }
}

function agentsOf(detection: DetectionView | undefined): Record<string, unknown> {
  if (!detection || detection.agents.length === 0) return {};
  const agents = detection.agents.map(({ codename, driver, command, family }) => ({
    codename,
    driver,
    command,
    family,
    roles: ['author', 'reviewer'],
  }));
  return { agents };
}

async function registerIfWanted(
  context: CliContext,
  detection: DetectionView,
  isNamed: boolean,
  options: CommonOptions,
): Promise<RepositoryView | undefined> {
  const wanted =
    isNamed ||
    (context.io.hasTerminal() &&
      /^(y|yes)?$/i.test((await askLine(`Register ${detection.path}? [Y/n] `, context.io.err)).trim()));
  if (!wanted) return undefined;
  return context.change<RepositoryView>(
    'POST',
    '/api/repositories',
    { path: detection.path },
    { ...options, idempotencyKey: crypto.randomUUID() },
  );
}
