import type { IBuffer, Terminal } from '@xterm/headless';

import { clampSize, type TerminalFrame, type TerminalSize } from './frames.ts';
import { safeRow } from './safe-row.ts';

/** A screen at one moment, safe to be shown. */
export interface ScreenView extends TerminalSize {
  /** Rows from the top, with colours; see `safeRow`. */
  lines: string[];
  /** The same without colours, for whoever reads. */
  text: string[];
  /** From 0. */
  cursor: { row: number; column: number };
  /** The program wants cursor keys in their application form. */
  applicationKeys: boolean;
}

/** A real terminal's screen without a terminal. */
export interface Screen {
  /** Takes output of a program; resolves when it is on the screen. */
  write(text: string): Promise<void>;
  resize(size: TerminalSize): void;
  /** Applies what a host wrote into a journal. */
  apply(frame: TerminalFrame): Promise<void>;
  view(): ScreenView;
  /** Output that draws this screen on a blank one of the same size; without colours where `plain`. */
  snapshot(options?: { plain?: boolean }): string;
  size(): TerminalSize;
  close(): void;
}

type Xterm = typeof import('@xterm/headless');

/** Opens a blank screen. It answers no query of a program and keeps no history: memory is bounded by its size. */
export async function openScreen(size: TerminalSize): Promise<Screen> {
  // Only who needs a screen loads one. Node shows the package's one export as `default`.
  const loaded = (await import('@xterm/headless')) as Xterm & { default?: Xterm };
  const { Terminal: TerminalClass } = loaded.default ?? loaded;
  const terminal = new TerminalClass({ ...clampSize(size), scrollback: 0, logLevel: 'off', allowProposedApi: true });
  boundCounts(terminal);
  const write = (text: string): Promise<void> => new Promise((resolve) => terminal.write(text, resolve));
  const resize = (wanted: TerminalSize): void => {
    const { cols, rows } = clampSize(wanted);
    terminal.resize(cols, rows);
  };
  return {
    write,
    resize,
    async apply(frame) {
      if (frame.pty === 'out') return write(frame.text);
      if (frame.pty === 'size' || frame.pty === 'started') return resize(frame);
      if (frame.pty !== 'screen') return;
      terminal.reset();
      resize(frame);
      await write(frame.text);
    },
    view: () => viewOf(terminal),
    snapshot: ({ plain = false } = {}) => snapshotOf(terminal, plain),
    size: () => ({ cols: terminal.cols, rows: terminal.rows }),
    close: () => terminal.dispose(),
  };
}

/**
 * Sequences that xterm does as often as they say, with the most that any screen has use for: lines inserted, deleted and
 * scrolled; tabs and repeated characters. A program that counts further wants to keep everybody busy who watches it.
 */
const mostTimes = { L: 100, M: 100, S: 100, T: 100, I: 300, Z: 300, b: 300 } as const;

/** Lets no sequence of a program hold up or end whoever shows its screen. */
function boundCounts(terminal: Terminal): void {
  for (const [final, most] of Object.entries(mostTimes))
    terminal.parser.registerCsiHandler({ final }, (params) => params.some((param) => Number(param) > most));
}

function viewOf({ buffer: { active }, cols, rows, modes }: Terminal): ScreenView {
  const read = (plain: boolean): string[] =>
    Array.from({ length: rows }, (_, row) => safeRow(active.getLine(active.baseY + row), cols, { plain }));
  return {
    cols,
    rows,
    lines: read(false),
    text: read(true).map((line) => line.trimEnd()),
    cursor: { row: active.cursorY, column: Math.min(cols - 1, active.cursorX) },
    applicationKeys: modes.applicationCursorKeysMode,
  };
}

function snapshotOf(terminal: Terminal, plain: boolean): string {
  const { buffer, modes } = terminal;
  const isAlternate = buffer.active.type === 'alternate';
  const set = (isSet: boolean, mode: number): string => (isSet ? `\u001B[?${mode}h` : '');
  return [
    drawing(buffer.normal, terminal, plain),
    isAlternate ? `\u001B[?1049h${drawing(buffer.alternate, terminal, plain)}` : '',
    scrollRegion(terminal),
    set(modes.applicationCursorKeysMode, 1),
    set(modes.bracketedPasteMode, 2004),
    modes.wraparoundMode ? '' : '\u001B[?7l',
    modes.insertMode ? '\u001B[4h' : '',
    `\u001B[${buffer.active.cursorY + 1};${Math.min(terminal.cols, buffer.active.cursorX + 1)}H`,
  ].join('');
}

function drawing(buffer: IBuffer, { cols, rows }: Terminal, plain: boolean): string {
  return Array.from({ length: rows }, (_, row) => {
    const text = safeRow(buffer.getLine(buffer.baseY + row), cols, { plain });
    return text === '' ? '' : `\u001B[${row + 1};1H${text}`;
  }).join('');
}

/** Not part of xterm's public face; without it a program that scrolls a part of the screen looks wrong until it draws anew. */
function scrollRegion(terminal: Terminal): string {
  const inner = (terminal as unknown as { _core?: { buffer?: { scrollTop?: number; scrollBottom?: number } } })._core
    ?.buffer;
  const { scrollTop = 0, scrollBottom = terminal.rows - 1 } = inner ?? {};
  return scrollTop === 0 && scrollBottom === terminal.rows - 1 ? '' : `\u001B[${scrollTop + 1};${scrollBottom + 1}r`;
}
