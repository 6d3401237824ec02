import { userInfo } from 'node:os';

import type { Command } from 'commander';

import type { TakeoverView, TerminalView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withKey } from '../options.ts';
import { runTerminal } from '../run-terminal.ts';
import { counted, oneLine } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  withKey(
    command
      .argument('<session>', 'Work key or id of the session')
      .option('--shell', "Open a shell in its folder instead of the agent's own resume")
      .option('--print', 'Print the command that opens the terminal instead of running it; it works once')
      .option('--again', 'Open another terminal in a session that is taken over already'),
  );
  context.action(command, async ({ args: [session = ''], options }) => {
    const path = `/api/sessions/${encodeURIComponent(session)}/takeover`;
    const by = nameHere();
    const taken = options.again
      ? undefined
      : await context.change<TakeoverView>('PUT', path, by === undefined ? {} : { by }, options);
    if (taken) context.io.err(`${headOf(taken)}\n`);
    const body = { shell: options.shell === true, ...termOf(context.io.env.TERM) };
    const { idempotencyKey: _, ...own } = options;
    const terminal = await context.change<TerminalView>('POST', `${path}/terminals`, body, own);
    if (options.print) return { json: { takeover: taken ?? null, terminal }, text: terminal.command.join(' ') };
    if (terminal.note !== null) context.io.err(`${oneLine(terminal.note, 200)}.\n`);
    if (terminal.program === 'shell' && terminal.resume !== null)
      context.io.err(`The agent's own resume: ${oneLine(terminal.resume, 400)}\n`);
    const ended = await runTerminal(terminal.command, { quiet: options.json === true });
    const text = `The terminal is closed; ${session} is still yours.\nGive it back:  chantier handback ${session} --note "what you did"\nOpen another:  chantier takeover ${session} --again`;
    return { json: { takeover: taken ?? null, terminal, ended }, text };
  });
}

function headOf({ session, by, folder, closedQuestions }: TakeoverView): string {
  const closed = closedQuestions === 0 ? '' : ` ${counted(closedQuestions, 'open question')} of it was closed.`;
  return `${by} has the wheel of ${session.workKey}; its agent has ended.${closed}${folder === null ? '' : ` The folder is ${folder}.`}`;
}

/** What this human is called here, where that can be a name of an author of commits. */
function nameHere(): string | undefined {
  try {
    const { username } = userInfo();
    return /^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,79}$/u.test(username) ? username : undefined;
  } catch {
    return undefined; // this user has no entry in the list of accounts
  }
}

function termOf(term: string | undefined): { term?: string } {
  return term !== undefined && /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(term) ? { term } : {};
}
