import { Command, CommanderError } from 'commander';

import { pathsOf } from '../config/index.ts';
import { Fault } from '../kernel/index.ts';
import { aliases, type CommandEntry, commands, type Verb } from './command-table.ts';
import { type CliContext, createContext } from './context.ts';
import type { CliIo } from './io.ts';
import { CommandFailure, exitCodes, type Outcome } from './outcome.ts';
import { version } from './version.ts';

/** What the seven commands answer to anything else (ERR-05, S-14). */
const unknownCommand = 'Unknown command. Available: start, status, escalations, respond, pause, resume, stop';

/**
 * Runs one invocation and gives its exit code. With `--json` exactly one line, one JSON document, goes to stdout, for a
 * failure too; everything for people goes to stderr then.
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const json = argv.slice(0, firstIndex(argv, '--')).includes('--json');
  let outcome: Outcome | undefined;
  const program = newProgram(io, json);
  const context = createContext(io, pathsOf(io.env.CHANTIER_HOME), (done) => (outcome = done));
  try {
    await addVerbs(program, argv, context);
    await program.parseAsync([...argv], { from: 'user' });
    if (!outcome) return 0;
    io.out(json ? `${JSON.stringify(outcome.json)}\n` : ending(outcome.text));
    return outcome.exitCode ?? 0;
  } catch (error) {
    return reportFailure(error, io, json);
  }
}

/** Loads the one verb that is used and names the others; `help` loads none. */
async function addVerbs(program: Command, argv: readonly string[], context: CliContext): Promise<void> {
  const word = argv.find((arg) => !arg.startsWith('-'));
  const verb =
    word === undefined ? undefined : (aliases[word] ?? (Object.hasOwn(commands, word) ? (word as Verb) : undefined));
  if (word !== undefined && verb === undefined && word !== 'help') {
    await reportUnknown(word, context);
    throw new CommandFailure(2, {
      code: 'unknown_command',
      kind: 'invalid',
      detail: `${unknownCommand}\n${meantBy(word)}Other verbs: chantier --help`,
    });
  }
  let group = '';
  for (const [name, entry] of Object.entries<CommandEntry>(commands)) {
    const command = program.command(name).description(entry.summary);
    if (entry.group !== group) command.helpGroup(`${entry.group}:`);
    else command.helpGroup(`${group}:`);
    group = entry.group;
    for (const [alias, target] of Object.entries(aliases)) if (target === name) command.alias(alias);
    if (name !== verb) continue;
    (await entry.load()).define(command, context);
    addCommonOptions(command);
  }
}

/** Names the verb that a mistyped word begins like, or holds the same letters as. */
function meantBy(word: string): string {
  const sorted = (text: string) => [...text].sort().join('');
  const near = Object.keys(commands).filter(
    (name) => sorted(name) === sorted(word) || (word.length > 2 && (name.startsWith(word) || word.startsWith(name))),
  );
  return near.length === 0 ? '' : `Did you mean: ${near.map((name) => `chantier ${name}`).join(', ')}?\n`;
}

/** A program with nothing of its own but help and version; errors come as exceptions. */
export function newProgram(io: Pick<CliIo, 'out' | 'err'>, json = false): Command {
  return new Command('chantier')
    .description('Control plane for crews of coding agents on your own machine.')
    .version(version, '--version', 'Print the version')
    .option('--json', 'Print exactly one line, one JSON document')
    .helpOption('-h, --help', 'Print help')
    .addHelpText('after', `\n${helpTail()}`)
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: (text) => (json ? undefined : io.err(text)) })
    .enablePositionalOptions();
}

/** Adds `--json` to a verb and to the verbs below it. */
export function addCommonOptions(command: Command): void {
  command.exitOverride().option('--json', 'Print exactly one line, one JSON document');
  command.copyInheritedSettings(command.parent ?? command);
  for (const child of command.commands) {
    if (child.name() !== 'help') addCommonOptions(child);
  }
}

function helpTail(): string {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code.padStart(2)}  ${meaning}`);
  return [
    'Environment:',
    '  CHANTIER_HOME   folder of the instance (default ~/.chantier)',
    '  CHANTIER_URL    where the server is: unix:/path or http://127.0.0.1:PORT (default: the socket of the home)',
    '  CHANTIER_TOKEN  credential (default: operator.token of the home)',
    '',
    'Exit codes:',
    ...codes,
  ].join('\n');
}

/** Leaves an event of the try where a server runs (S-14); never starts one and never fails. */
async function reportUnknown(word: string, context: CliContext): Promise<void> {
  const safe = /^[a-z][a-z-]{0,31}$/.test(word) ? word : 'unknown';
  try {
    await context.client().send('PUT', `/api/sessions/-/${safe}`, { body: {}, timeoutMs: 2000 });
  } catch {}
}

function reportFailure(error: unknown, io: CliIo, json: boolean): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (json) io.out(`${JSON.stringify({ code: 'usage', kind: 'invalid', detail: error.message })}\n`);
    return 2;
  }
  const failure = asFailure(error);
  if (json) io.out(`${JSON.stringify(failure.problem)}\n`);
  else io.err(`${failure.message}\n${errorLines(failure)}`);
  return failure.exitCode;
}

function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof Fault) {
    return new CommandFailure(error.code === 'invalid_setting' ? 2 : error.code === 'port_taken' ? 4 : 1, {
      code: error.code,
      kind: 'fault',
      detail: error.message,
      facts: error.facts,
    });
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return new CommandFailure(1, { code: 'unexpected', kind: 'bug', detail: `Unexpected: ${message}`, stack });
}

function errorLines(failure: CommandFailure): string {
  const errors = failure.problem.errors as { path: string; message: string }[] | undefined;
  if (errors && errors.length > 1) return errors.map((one) => `  ${one.path}: ${one.message}\n`).join('');
  return failure.problem.kind === 'bug' ? `${String(failure.problem.stack)}\n` : '';
}

function firstIndex(argv: readonly string[], word: string): number {
  const index = argv.indexOf(word);
  return index < 0 ? argv.length : index;
}

function ending(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
