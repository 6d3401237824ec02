import type { Command } from 'commander';

import type { UserView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { askPassphrase, readPassphraseFrom } from '../passphrase.ts';
import { table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  context.action(command.command('list', { isDefault: true }).description('List users'), async () => {
    const users = await context.get<UserView[]>('/api/users');
    return {
      json: users,
      text: table(
        ['NAME', 'ROLE', 'SINCE'],
        users.map((one) => [one.name, one.role, one.createdAt]),
      ),
    };
  });
  const add = command
    .command('add')
    .description('Add an operator or a viewer')
    .argument('<name>', 'Name to log in with')
    .option('--role <role>', 'operator or viewer', 'viewer')
    .option('--new-passphrase-fd <n>', 'Read the new user’s passphrase from this file descriptor');
  withProof(add);
  context.action(add, async ({ args: [name], options }) => {
    await context.passphrase(options);
    const passphrase =
      options.newPassphraseFd === undefined
        ? await askPassphrase(`Passphrase of ${name}: `, context.io.err)
        : readPassphraseFrom(String(options.newPassphraseFd));
    const body = { name, role: options.role, passphrase };
    const user = await context.decide<UserView>('POST', '/api/users', body, { ...options, fresh: true });
    return { json: user, text: `${user.name} may log in as ${user.role}.` };
  });
}
