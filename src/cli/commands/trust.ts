import { resolve } from 'node:path';

import type { Command } from 'commander';

import type { RepositoryView } from '../../wire/index.ts';
import type { CliContext, CommonOptions } from '../context.ts';
import { CommandFailure } from '../outcome.ts';
import { withProof } from '../options.ts';
import { describeRepository } from '../show-repository.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('[repository]', 'Name, id or path (default: the current folder)')
    .option('--digest <digest>', 'Only if the configuration still has this digest');
  withProof(command);
  context.action(command, async ({ args: [name], options }) => {
    const repository = await findOrRegister(context, name, options);
    context.io.err(`${describeRepository(repository)}\n`);
    if (repository.isTrusted) return { json: repository, text: 'It is trusted already.' };
    const path = `/api/repositories/${encodeURIComponent(repository.id)}/trust`;
    const body = { digest: (options.digest as string | undefined) ?? repository.configDigest };
    const trusted = await context.decide<RepositoryView>('PUT', path, body, { ...options, fresh: true });
    return { json: trusted, text: `Trusted: ${trusted.name}, configuration ${trusted.configDigest.slice(0, 12)}.` };
  });
}

/** The registered repository of that name or path; a checkout that is not registered yet becomes so. */
export async function findOrRegister(
  context: CliContext,
  name: string | undefined,
  options: CommonOptions,
): Promise<RepositoryView> {
  const path = resolve(context.io.cwd, name ?? '.');
  for (const candidate of name === undefined || name.includes('/') ? [path] : [name, path]) {
    try {
      return await context.get<RepositoryView>(`/api/repositories/${encodeURIComponent(candidate)}`);
    } catch (error) {
      if (!(error instanceof CommandFailure) || error.exitCode !== 8) throw error;
    }
  }
  return context.change<RepositoryView>(
    'POST',
    '/api/repositories',
    { path },
    { ...options, idempotencyKey: crypto.randomUUID() },
  );
}
