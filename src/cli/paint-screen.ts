import type { ScreenView } from '../terminal/index.ts';
import type { CliTerminal } from './io.ts';
import { visible } from './show.ts';

/** Draws a program's screen on the operator's terminal, and a line below it that says what this is. */
export interface Painter {
  paint(view: ScreenView, status: string): void;
  /** Draws everything again with the next paint: the terminal has another size. */
  forget(): void;
  /** Gives the terminal back as it was. */
  end(): void;
}

/** Takes the whole terminal. What is written is made here, row by row, of the safe rows of a view; only rows that changed are written. */
export function createPainter(out: (text: string) => void, terminal: CliTerminal): Painter {
  let drawn: string[] = [];
  out('\u001B[?1049h\u001B[2J');
  return {
    paint(view, status) {
      const { cols, rows } = terminal.size();
      const cut = view.cols > cols || view.rows > rows - 1;
      const lines = view.lines.slice(0, rows - 1);
      while (lines.length < rows - 1) lines.push('');
      lines.push(statusRow(cut ? `${status} · ${view.cols}x${view.rows}, cut` : status, cols));
      let text = '\u001B[?25l\u001B[?7l';
      for (const [row, line] of lines.entries())
        if (line !== drawn[row]) text += `\u001B[${row + 1};1H\u001B[0m\u001B[K${line}`;
      const { row, column } = view.cursor;
      if (row < rows - 1 && column < cols) text += `\u001B[${row + 1};${column + 1}H\u001B[?25h`;
      drawn = lines;
      out(`${text}\u001B[?7h`);
    },
    forget() {
      drawn = [];
      out('\u001B[0m\u001B[2J');
    },
    end: () => out('\u001B[0m\u001B[?25h\u001B[?1049l'),
  };
}

function statusRow(status: string, cols: number): string {
  const text = [...visible(status).replaceAll('\n', ' ')].slice(0, cols).join('');
  return `\u001B[0;7m${text.padEnd(cols)}\u001B[0m`;
}
