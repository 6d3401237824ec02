import { newId, ok, refuse, type Result } from '../../kernel/index.ts';
import type { SessionRow, Supervisor, TerminalControl } from '../../sessions/index.ts';
import type { KeyboardRequest, KeyboardView, KeysRequest, KeysView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { noTerminal } from './read-terminal.ts';
import { requireHere } from './require-here.ts';

/** Who types at which terminal. */
export interface Keyboards {
  take(caller: Caller, session: SessionRow, size: KeyboardRequest): Promise<Result<KeyboardView>>;
  type(caller: Caller, session: SessionRow, keys: KeysRequest): Promise<Result<KeysView>>;
}

/**
 * One keyboard for each session: whoever takes it has it until somebody else does, so that two people never type into each
 * other's words. Kept in memory only; after a restart of the server it is taken again.
 */
export function createKeyboards(ctx: AppContext, supervisor: () => Supervisor): Keyboards {
  const held = new Map<string, { keyboard: string; generation: number }>();

  const terminalOf = (session: SessionRow): Result<{ generation: number; control: TerminalControl }> => {
    const here = requireHere(ctx, session);
    if (!here.ok) return here;
    const terminal = supervisor().terminalOf(session.id);
    if (terminal) return ok(terminal);
    return session.process === 'live' ? noTerminal(session) : notHeld(session);
  };

  return {
    async take(caller, session, size) {
      const terminal = terminalOf(session);
      if (!terminal.ok) return terminal;
      const { generation, control } = terminal.value;
      const taken = await once(ctx.store, caller, 'keyboard.take', { session: session.id, ...size }, async (tx) => {
        const keyboard = newId<string>();
        const subject = { kind: 'session', id: session.id };
        await tx.emit({ kind: 'session.keyboard-taken', actor: caller.actor, subject, facts: { generation } });
        return ok({ keyboard });
      });
      if (!taken.ok) return taken;
      const { keyboard } = taken.value;
      held.set(session.id, { keyboard, generation });
      const sized = await control.send({ id: keyboard, ...size });
      return sized.ok ? ok({ sessionId: session.id, generation, keyboard }) : sized;
    },
    async type(caller, session, { keyboard, text, size }) {
      const terminal = terminalOf(session);
      if (!terminal.ok) return terminal;
      const { generation, control } = terminal.value;
      const holder = held.get(session.id);
      if (!holder || holder.generation !== generation) {
        held.delete(session.id);
        return refuse(
          'wrong-state',
          'keyboard_lost',
          'The server or the program was started again: take the keyboard again.',
        );
      }
      if (holder.keyboard !== keyboard)
        return refuse('held', 'keyboard_taken', 'Somebody else has taken the keyboard since; take it back, or watch.');
      const key = caller.idempotencyKey;
      const typed = text === undefined ? ok(undefined) : await control.send({ id: key, text });
      if (!typed.ok) return typed;
      const sized = size === undefined ? ok(undefined) : await control.send({ id: `${key}:size`, ...size });
      return sized.ok ? ok({ sent: true }) : sized;
    },
  };
}

function notHeld(session: SessionRow): Result<never> {
  return refuse(
    'wrong-state',
    'terminal_not_held',
    `The program of ${session.work_key} does not run now (${session.state}); there is nothing to type into.`,
  );
}
