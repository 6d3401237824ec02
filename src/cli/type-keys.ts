import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { KeyboardView } from '../wire/index.ts';
import type { CliContext } from './context.ts';
import { isAway } from './follow-pages.ts';
import { CommandFailure } from './outcome.ts';

/** More than this waits for a server that is away no longer. */
const maxWaiting = 65_536;
const tryAgainMs = 300;

/** The keyboard of a program at a terminal, in this command's hands. */
export interface Keyboard {
  type(text: string): void;
  resize(size: Size): void;
  /** Resolves when what was typed so far has been sent, or cannot be. */
  settled(): Promise<void>;
}

interface Size {
  cols: number;
  rows: number;
}

/**
 * Takes the keyboard and sends what is typed, in order and each piece once: after a lost connection the same piece goes out
 * under the same key. `onLost` is called once when somebody else has taken the keyboard or the program is gone.
 */
export async function takeKeyboard(
  context: CliContext,
  session: string,
  size: Size,
  onLost: (why: string) => void,
): Promise<Keyboard> {
  const path = `/api/sessions/${encodeURIComponent(session)}/terminal`;
  let wanted = size;
  let resized = false;
  let waiting = '';
  let isLost = false;
  let sending: Promise<void> | undefined;
  const send = <T>(method: string, part: string, body: unknown, key: string): Promise<T> =>
    context.client().send<T>(method, `${path}/${part}`, { body, key, signal: context.io.signal });
  const take = async (): Promise<string> =>
    (await send<KeyboardView>('PUT', 'keyboard', wanted, randomUUID())).keyboard;

  await context.ensureServer();
  let keyboard = await take();

  /** One piece until it is there; `false` when it never will be. */
  const deliver = async (piece: { text?: string; size?: Size }): Promise<boolean> => {
    const key = randomUUID();
    while (!context.io.signal.aborted) {
      try {
        await send('POST', 'keys', { keyboard, ...piece }, key);
        return true;
      } catch (error) {
        const code = error instanceof CommandFailure ? error.problem.code : '';
        if (code === 'keyboard_lost') {
          const again = await take().catch(() => undefined);
          if (again !== undefined) keyboard = again;
          else await sleep(tryAgainMs);
        } else if (isAway(error)) await sleep(tryAgainMs);
        else {
          isLost = true;
          onLost(error instanceof Error ? error.message : String(error));
          return false;
        }
      }
    }
    return false;
  };
  const pump = async (): Promise<void> => {
    while (!isLost && (waiting !== '' || resized)) {
      const piece = { ...(waiting === '' ? {} : { text: waiting }), ...(resized ? { size: wanted } : {}) };
      waiting = '';
      resized = false;
      if (!(await deliver(piece))) return;
    }
  };
  const start = (): void => void (sending ??= pump().finally(() => (sending = undefined)));

  return {
    type(text) {
      if (isLost || waiting.length + text.length > maxWaiting) return;
      waiting += text;
      start();
    },
    resize(next) {
      wanted = next;
      resized = true;
      if (!isLost) start();
    },
    async settled() {
      await sending;
    },
  };
}
