import { resolve } from 'node:path';

import type { Command } from 'commander';

import { parseDuration } from '../../config/index.ts';
import type { DecisionView, RepositoryView, RunView, SettledView } from '../../wire/index.ts';
import type { CliContext, CommonOptions } from '../context.ts';
import { ensureOperator } from '../first-run.ts';
import { failWith } from '../outcome.ts';
import { withProof } from '../options.ts';
import { askLine } from '../passphrase.ts';
import { describeRepository } from '../show-repository.ts';
import { counted, oneLine } from '../show.ts';
import { waitForEnd } from '../wait-for-end.ts';

interface RunOptions extends CommonOptions {
  repo: string;
  agent?: string;
  budget?: string;
  withChanges?: boolean;
  issue?: string;
  wait?: boolean;
  timeout: string;
  trust?: boolean;
}

export function define(command: Command, context: CliContext): void {
  command
    .argument('<request>', 'What shall be done; - reads it from stdin')
    .option('--repo <path>', 'The checkout to work on', '.')
    .option('--agent <codename>', 'The author (default: the first that may)')
    .option('--with-changes', 'Take your uncommitted work along')
    .option('--issue <n>', 'Number of the forge issue it belongs to')
    .option('--budget <amount>', 'What it may use, reviews included: tokens (500k, 2M), money ($5), or both (2M,$5)')
    .option('--trust', 'Trust the configuration of the repository as it is shown')
    .option('--wait', 'Wait until it has landed or ended')
    .option('--timeout <duration>', 'How long --wait waits', '2h');
  withProof(command);
  context.action(command, async ({ args: [given = ''], options }) => {
    const wanted = options as unknown as RunOptions;
    const timeoutMs = parseDuration(wanted.timeout);
    if (timeoutMs === undefined) throw failWith('invalid', 'usage', '--timeout takes a duration such as 90m.');
    await ensureOperator(context, wanted);
    const run = await context.changeOrDecide<RunView>(
      'POST',
      '/api/runs',
      await bodyOf(context, given, wanted),
      wanted,
    );
    context.io.err(`${describeRun(run)}\n`);
    if (run.waitsFor !== null) await trustIfWanted(context, run, wanted);
    if (!wanted.wait) return { json: run, text: `Follow it with "chantier status"; decide with "chantier pending".` };
    const end = await waitForEnd(context, run, timeoutMs);
    return { json: { ...run, ...end.json }, text: end.text, exitCode: end.exitCode };
  });
}

async function bodyOf(context: CliContext, given: string, options: RunOptions): Promise<Record<string, unknown>> {
  const isPath = options.repo.startsWith('.') || options.repo.includes('/');
  return {
    request: await context.textOf(given),
    repository: isPath ? resolve(context.io.cwd, options.repo) : options.repo,
    withChanges: options.withChanges === true,
    ...(options.agent === undefined ? {} : { agent: options.agent }),
    ...(options.budget === undefined ? {} : { budget: options.budget }),
    ...(options.issue === undefined ? {} : { issue: Number(options.issue) }),
  };
}

function describeRun(run: RunView): string {
  const left = run.notIncluded.length;
  return [
    `${run.project.codename}/${run.task.codename}: work starts from ${oneLine(run.base)} at ${run.baseCommit.slice(0, 12)}.`,
    ...(run.held === null ? [] : [`It is recorded and waits. ${oneLine(run.held, 400)}`]),
    ...(left > 0
      ? [
          `Not included: ${counted(left, 'file')} with uncommitted work (${run.notIncluded
            .slice(0, 5)
            .map((file) => oneLine(file, 60))
            .join(', ')}${left > 5 ? ', …' : ''}); --with-changes takes them along.`,
        ]
      : []),
    ...run.warnings.map((warning) => `warning: ${oneLine(warning, 200)}`),
  ].join('\n');
}

/** Shows what would be run and asks once; without a terminal it needs `--trust`, else the work waits for the human. */
async function trustIfWanted(context: CliContext, run: RunView, options: RunOptions): Promise<void> {
  const decision = await context.get<DecisionView>(`/api/decisions/${encodeURIComponent(run.waitsFor ?? '')}`);
  if (decision.kind !== 'repository_trust') {
    context.io.err(`It waits for decision ${decision.id}: ${oneLine(decision.title, 200)}\n`);
    return;
  }
  const repository = await context.get<RepositoryView>(`/api/repositories/${encodeURIComponent(run.repositoryId)}`);
  context.io.err(`${describeRepository(repository)}\n`);
  const wanted =
    options.trust === true ||
    (context.io.hasTerminal() &&
      /^y(es)?$/i.test(
        (await askLine('Run these commands in the sandbox for this repository? [y/N] ', context.io.err)).trim(),
      ));
  if (!wanted) {
    context.io.err(
      `It waits until a human trusts this: "chantier trust ${run.repositoryId}" or "chantier approve ${decision.id}".\n`,
    );
    return;
  }
  const path = `/api/decisions/${encodeURIComponent(decision.id)}/verdict`;
  const verdict = { ...options, fresh: true, idempotencyKey: crypto.randomUUID() };
  const settled = await context.decide<SettledView>('PUT', path, { verdict: 'approve' }, verdict);
  context.io.err(`${settled.message}\n`);
}
