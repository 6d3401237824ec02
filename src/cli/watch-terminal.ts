import { setTimeout as sleep } from 'node:timers/promises';
import { StringDecoder } from 'node:string_decoder';

import { defaultSize, openScreen, type Screen } from '../terminal/index.ts';
import type { TerminalPage } from '../wire/index.ts';
import type { CliContext } from './context.ts';
import { readThroughRestarts } from './follow-pages.ts';
import type { CliTerminal } from './io.ts';
import { createPainter, type Painter } from './paint-screen.ts';
import { type Keyboard, takeKeyboard } from './type-keys.ts';

const detachKey = '\u001D';
/** How long the server holds a request while nothing comes (ms). */
const waitMs = 15_000;
const lookAgainMs = 500;
/** How long what was typed last may take to be sent when somebody detaches (ms). */
const lastKeysMs = 2_000;

/** How watching ended. */
export interface WatchEnd {
  generation: number;
  /** `detached`: the program goes on. */
  reason: 'detached' | 'ended';
}

/** Shows a program's screen live until somebody detaches (Ctrl-], watching also q or Ctrl-C) or the session ends; with `write` keys go to it. */
export async function watchTerminal(
  context: CliContext,
  terminal: CliTerminal,
  session: string,
  write: boolean,
): Promise<WatchEnd> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, context.io.signal]);
  const screen = await openScreen(defaultSize);
  let mode = write ? 'writing' : 'watching';
  let lost = '';
  let away = '';
  let keyboard: Keyboard | undefined;
  if (write) {
    keyboard = await takeKeyboard(context, session, inner(terminal), (why) => {
      keyboard = undefined;
      mode = 'watching';
      lost = why;
      show();
    });
  }
  const painter: Painter = createPainter(context.io.out, terminal);
  const show = (): void => {
    const keys = mode === 'writing' ? 'Ctrl-] detaches' : 'q detaches';
    painter.paint(screen.view(), [mode, keys, away, lost, session].filter((part) => part !== '').join(' · '));
  };
  const decoder = new StringDecoder('utf8');
  const stopKeys = terminal.readKeys((bytes) => {
    const keys = decoder.write(bytes);
    const end = keys.indexOf(detachKey);
    if (keyboard && mode === 'writing') keyboard.type(forProgram(end < 0 ? keys : keys.slice(0, end), screen));
    if (end >= 0 || (mode === 'watching' && ['q', '\u0003'].some((key) => keys.includes(key)))) leaving.abort();
  });
  const stopResize = terminal.onResize(() => {
    painter.forget();
    if (mode === 'writing') keyboard?.resize(inner(terminal));
    show();
  });
  try {
    show();
    const end = await follow(context, session, screen, { signal, show, say: (text) => (away = text) });
    await Promise.race([keyboard?.settled(), sleep(lastKeysMs, undefined, { ref: false })]);
    return end;
  } finally {
    stopResize();
    stopKeys();
    painter.end();
    screen.close();
  }
}

/** Reads pages onto the screen; gives how it ended. */
async function follow(
  context: CliContext,
  session: string,
  screen: Screen,
  { signal, show, say }: { signal: AbortSignal; show: () => void; say: (note: string) => void },
): Promise<WatchEnd> {
  const path = `/api/sessions/${encodeURIComponent(session)}/terminal`;
  let place: { generation?: number; after?: number } = {};
  const onAway = (): void => {
    say('the server is away');
    show();
  };
  for (;;) {
    const page = await readThroughRestarts<TerminalPage>(context, path, { ...place, waitMs }, { signal, onAway });
    if (!page) return { generation: place.generation ?? 0, reason: 'detached' };
    for (const frame of page.frames) await screen.apply(frame);
    say('');
    show();
    place = { generation: page.generation, after: page.next };
    if (page.hasMore || !page.ended) continue;
    if (page.generation < page.newestGeneration) place = { generation: page.generation + 1, after: 0 };
    else if (page.sessionEnded) return { generation: page.generation, reason: 'ended' };
    else await sleep(lookAgainMs, undefined, { signal }).catch(() => {});
  }
}

/** The screen as it is now. */
export async function readScreen(
  context: CliContext,
  session: string,
): Promise<{ page: TerminalPage; screen: Screen }> {
  const path = `/api/sessions/${encodeURIComponent(session)}/terminal`;
  const screen = await openScreen(defaultSize);
  let page = await context.get<TerminalPage>(path);
  for (;;) {
    for (const frame of page.frames) await screen.apply(frame);
    if (!page.hasMore) return { page, screen };
    page = await context.get<TerminalPage>(path, { generation: page.generation, after: page.next });
  }
}

/** The terminal without the line below the screen. */
function inner(terminal: CliTerminal): { cols: number; rows: number } {
  const { cols, rows } = terminal.size();
  return { cols: Math.min(300, Math.max(2, cols)), rows: Math.min(100, Math.max(2, rows - 1)) };
}

/** Cursor keys in the form that the program has asked for. */
function forProgram(keys: string, screen: Screen): string {
  // oxlint-disable-next-line no-control-regex
  return screen.view().applicationKeys ? keys.replaceAll(/\u001B\[([A-DHF])/g, '\u001BO$1') : keys;
}
