import type { Command } from 'commander';

import type { TerminalPage, TranscriptPage } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { CommandFailure, failWith, type Outcome } from '../outcome.ts';
import { followTranscript } from '../follow-transcript.ts';

/** Lines of the journal that are shown before what comes. */
const tail = 50;

export function define(command: Command, context: CliContext): void {
  command
    .argument('<session>', 'Work key or id of the session')
    .option('--write', 'Type at its terminal, which becomes as large as yours; Ctrl-] detaches')
    .addHelpText(
      'after',
      '\nA program at a terminal is shown live: q, Ctrl-C or Ctrl-] detach, and it goes on. An agent with a protocol is shown' +
        '\nas its transcript grows. Without a terminal, or with --json, the screen as it is now is printed.',
    );
  context.action(command, async ({ args: [session = ''], options }) => {
    const first = await firstPage(context, session);
    if (!first) return showTranscript(context, session, options);
    const { readScreen, watchTerminal } = await import('../watch-terminal.ts');
    const { terminal } = context.io;
    if (options.write && (options.json || !terminal))
      throw failWith(
        'invalid',
        'no_own_terminal',
        'Typing needs a terminal of your own: run it at one, without --json.',
      );
    if (options.json || !terminal) {
      const { page, screen } = await readScreen(context, session);
      const { cols, rows, text, cursor } = screen.view();
      const { sessionId, generation, ended } = page;
      return {
        json: { sessionId, generation, ended, cols, rows, cursor, lines: text },
        text: text.join('\n').trimEnd(),
      };
    }
    const end = await watchTerminal(context, terminal, session, options.write === true);
    const text = end.reason === 'ended' ? 'The session has ended.' : `Detached; ${session} goes on.`;
    return { json: end, text };
  });
}

/** The first page of its screen; `undefined` when its agent has no terminal. */
async function firstPage(context: CliContext, session: string): Promise<TerminalPage | undefined> {
  try {
    return await context.get<TerminalPage>(`/api/sessions/${encodeURIComponent(session)}/terminal`);
  } catch (error) {
    if (error instanceof CommandFailure && error.problem.code === 'no_terminal') return undefined;
    throw error;
  }
}

async function showTranscript(
  context: CliContext,
  session: string,
  options: { json?: boolean; write?: unknown },
): Promise<Outcome> {
  if (options.write)
    throw failWith(
      'wrong-state',
      'no_terminal',
      `The agent of ${session} has no terminal; "chantier tell" tells it something.`,
    );
  const path = `/api/sessions/${encodeURIComponent(session)}/transcript`;
  const page = await context.get<TranscriptPage>(path, { tail });
  return options.json ? { json: page, text: '' } : followTranscript(context, path, {}, page, { follow: true });
}
