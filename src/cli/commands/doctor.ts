import type { Command } from 'commander';

import type { DoctorReport } from '../../wire/index.ts';
import { isUnreachable } from '../client.ts';
import type { CliContext } from '../context.ts';
import { examineMachine } from '../examine-machine.ts';
import type { Outcome } from '../outcome.ts';

export function define(command: Command, context: CliContext): void {
  command.option('--deep', 'Check the whole store against its rules');
  context.action(command, async ({ options }) => {
    const machine = await examineMachine(context.paths, context.io.env);
    const report = await examineServer(context, options.deep === true);
    // What the server says of itself counts more than what this process found.
    const known = new Set(report.checks.map((check) => check.name));
    const checks = [...machine.filter((check) => !known.has(check.name)), ...report.checks];
    const ok = checks.every((check) => check.status !== 'fail');
    return { json: { ok, checks }, text: textOf(checks), exitCode: ok ? 0 : 1 };
  });
}

async function examineServer(context: CliContext, deep: boolean): Promise<DoctorReport> {
  try {
    return await context.client().send<DoctorReport>('GET', '/api/doctor', deep ? { query: { deep } } : {});
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const message = 'No server runs; the store and the agents were not checked.';
    return { ok: true, checks: [{ name: 'server', status: deep ? 'fail' : 'warn', message, cure: 'chantier up' }] };
  }
}

function textOf(checks: DoctorReport['checks']): Outcome['text'] {
  const marks = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' };
  return checks
    .map(
      (check) =>
        `${marks[check.status]}  ${check.name}: ${check.message}${check.cure && check.status !== 'ok' ? `\n      → ${check.cure}` : ''}`,
    )
    .join('\n');
}
