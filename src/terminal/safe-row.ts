import type { IBufferCell, IBufferLine } from '@xterm/headless';

/** What would not be one cell of plain text, whatever the program put there: controls, direction changes, what Unicode has not given out. */
const unsafe = /[\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
/** Invisible ones; dropped, since a row of them would hide how long it is. */
const invisible = /\p{Cf}/gu;
/** Most code units that one cell may pile up. */
const maxCell = 16;

/**
 * One row of a screen as text that any terminal may be given: characters of one cell each, colours, and the column after
 * everything wider than ASCII, so that rows stay in place where terminals count width differently. Nothing that the program
 * wrote passes unchanged: no control sequence, no title, no link, no clipboard (OSC 52).
 */
export function safeRow(line: IBufferLine | undefined, cols: number, options: { plain?: boolean } = {}): string {
  if (!line) return '';
  let text = '';
  let style = '';
  let before = 0;
  const end = contentEnd(line, cols);
  for (let column = 0; column < end; column += 1) {
    const cell = line.getCell(column);
    const width = cell?.getWidth() ?? 0;
    // Without width and not the second half of a wide one: something invisible that stands alone.
    const isSecondHalf = width === 0 && before === 2;
    before = width;
    if (!cell || isSecondHalf) continue;
    const wanted = options.plain ? '' : styleOf(cell);
    if (wanted !== style) text += `\u001B[0${wanted}m`;
    style = wanted;
    const chars = cell.isInvisible() ? ' ' : safeCell(cell.getChars());
    text += chars;
    if (!options.plain && /[^ -~]/.test(chars)) text += `\u001B[${column + 1 + Math.max(1, width)}G`;
  }
  return style === '' ? text : `${text}\u001B[0m`;
}

function safeCell(chars: string): string {
  if (chars === '') return ' ';
  if (chars.length > maxCell || unsafe.test(chars)) return '\uFFFD';
  return chars.replaceAll(invisible, '') || ' ';
}

/** Blank cells without a colour at the end of a row need not be written. */
function contentEnd(line: IBufferLine, cols: number): number {
  for (let column = Math.min(cols, line.length) - 1; column >= 0; column -= 1) {
    const cell = line.getCell(column);
    if (cell && ((cell.getChars().trim() !== '' && cell.getWidth() > 0) || !cell.isBgDefault() || cell.isInverse()))
      return column + 1;
  }
  return 0;
}

/** The parameters after `0` that give a cell its look. */
function styleOf(cell: IBufferCell): string {
  const flags: [number, number][] = [
    [cell.isBold(), 1],
    [cell.isDim(), 2],
    [cell.isItalic(), 3],
    [cell.isUnderline(), 4],
    [cell.isInverse(), 7],
    [cell.isStrikethrough(), 9],
  ];
  const set = flags.flatMap(([isSet, code]) => (isSet ? `;${code}` : [])).join('');
  const foreground = colour(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor(), 38);
  const background = colour(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor(), 48);
  return set + foreground + background;
}

function colour(isRgb: boolean, isPalette: boolean, value: number, code: number): string {
  if (isRgb) return `;${code};2;${(value >> 16) & 255};${(value >> 8) & 255};${value & 255}`;
  return isPalette ? `;${code};5;${value & 255}` : '';
}
