import type { Command } from 'commander';

/** Adds the option of every change. */
export function withKey(command: Command): Command {
  return command
    .option(
      '--idempotency-key <key>',
      'Key that makes a repetition harmless (default: a new one, said when it is not known whether it was done)',
    )
    .option('--verbose', 'Say the key that was made');
}

/** Adds the options of everything a human decides. */
export function withProof(command: Command): Command {
  return withKey(command)
    .option('--passphrase-fd <n>', 'Read the passphrase from this open file descriptor instead of asking')
    .option('--operator <name>', 'Name of the operator (default: the only one)');
}

/** Adds the options of a yes to a change. */
export function withSeen(command: Command): Command {
  return command
    .option('--head <commit>', 'The head you have seen (default: the one that "pr show" printed last)')
    .option('--seen-whole', 'You have read elsewhere what cannot be shown whole');
}
