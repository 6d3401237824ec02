/** Columns and rows. */
export interface TerminalSize {
  cols: number;
  rows: number;
}

/** What the host of a PTY writes into the journal, a JSON line each. */
export type TerminalFrame =
  /** The program was started. */
  | ({ pty: 'started' } & TerminalSize)
  /** What the program wrote; whole characters. */
  | { pty: 'out'; text: string }
  /** The whole screen as it is here: output that draws it on a blank one. Reading may begin at any of these. */
  | ({ pty: 'screen'; text: string } & TerminalSize)
  | ({ pty: 'size' } & TerminalSize)
  /** Input was given to the program. What it was stands in no journal: it may be a secret. */
  | { pty: 'input'; id: string }
  | { pty: 'exit'; code: number; signal: number };

/** What is sent to the host, a JSON line each. */
export type TerminalInput = { id: string } & ({ text: string } | TerminalSize);

/** What a program starts with; whoever attaches to type makes it their own. */
export const defaultSize: TerminalSize = { cols: 120, rows: 32 };

/** How a journal's line begins that holds the whole screen. */
export const screenLinePrefix = '{"pty":"screen"';

/** A size that a screen can have; a hostile or careless one costs no memory. */
export function clampSize({ cols, rows }: TerminalSize): TerminalSize {
  const clamp = (value: number, max: number): number => Math.min(max, Math.max(2, Math.trunc(value) || 2));
  return { cols: clamp(cols, 300), rows: clamp(rows, 100) };
}

/** A line of a journal as a frame; `undefined` when it is none. The program could have written it: it is data. */
export function parseTerminalFrame(line: string): TerminalFrame | undefined {
  if (!line.startsWith('{"pty":')) return undefined;
  let frame: Record<string, unknown>;
  try {
    frame = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const text = typeof frame.text === 'string' ? frame.text : '';
  const size = clampSize({ cols: Number(frame.cols), rows: Number(frame.rows) });
  switch (frame.pty) {
    case 'out':
      return { pty: 'out', text };
    case 'screen':
      return { pty: 'screen', text, ...size };
    case 'started':
    case 'size':
      return { pty: frame.pty, ...size };
    case 'input':
      return { pty: 'input', id: String(frame.id) };
    case 'exit':
      return { pty: 'exit', code: Number(frame.code) || 0, signal: Number(frame.signal) || 0 };
    default:
      return undefined;
  }
}
