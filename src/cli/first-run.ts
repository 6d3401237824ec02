import { type FirstRunLink, passphrase as isLongEnough, type UserView, type WhoamiView } from '../wire/index.ts';
import type { CliContext, CommonOptions } from './context.ts';
import { failWith } from './outcome.ts';
import { askPassphrase } from './passphrase.ts';

/**
 * Makes sure that an operator exists: the passphrase comes from the descriptor or is asked at the terminal, where an empty one
 * means "in the browser", by a one-use link. Without a terminal: exit 9 and the command to run (design 4 "First run").
 */
export async function ensureOperator(context: CliContext, options: CommonOptions): Promise<{ created: boolean }> {
  await context.ensureServer();
  const who = await context.client().send<WhoamiView>('GET', '/api/whoami');
  if (who.hasOperator) return { created: false };
  if (options.passphraseFd === undefined && !context.io.hasTerminal()) {
    throw failWith(
      'proof-required',
      'no_operator',
      'There is no operator yet and no terminal to ask at. Run: chantier init --passphrase-fd 3 --phase 3 3< FILE',
    );
  }
  const question = 'No operator yet. New passphrase, at least 8 characters (empty: set it in the browser): ';
  const passphrase = await context.passphrase(options, question);
  if (passphrase === '') throw await linkInstead(context);
  if (!isLongEnough.safeParse(passphrase).success) {
    throw failWith(
      'invalid',
      'passphrase_too_short',
      'A passphrase has 8 to 1024 characters; nothing was set. Run it again.',
    );
  }
  if (options.passphraseFd === undefined && (await askPassphrase('Once more: ', context.io.err)) !== passphrase) {
    throw failWith('invalid', 'passphrases_differ', 'The two were not the same; nothing was set. Run it again.');
  }
  const body = { name: options.operator ?? 'operator', passphrase };
  await context.client().send<UserView>('POST', '/api/first-run', { body });
  return { created: true };
}

async function linkInstead(context: CliContext) {
  const { secret, expiresAt } = await context.client().send<FirstRunLink>('POST', '/api/first-run-links', { body: {} });
  const { readRunningServer } = await import('../store/index.ts');
  const url = readRunningServer(context.paths)?.address ?? 'http://127.0.0.1:4747';
  return failWith(
    'proof-required',
    'no_operator',
    `Set the passphrase at ${url}/#first-run=${secret} (works once, until ${expiresAt}), then run this again.`,
  );
}
