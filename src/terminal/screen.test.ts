/* oxlint-disable no-control-regex -- control characters are what this is about */
import { array, assert, asyncProperty, constantFrom, oneof } from 'fast-check';
import { expect, test } from 'vitest';

import { clampSize, parseTerminalFrame } from './frames.ts';
import { openScreen } from './screen.ts';

const size = { cols: 40, rows: 6 };

/** Everything but printable text, our own colours and our own columns. */
const dangerous = (line: string): string =>
  line
    .replaceAll(/\u001B\[0(?:;\d{1,3})*m|\u001B\[\d{1,3}G/g, '')
    .replaceAll(/[^\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu, '');

/** What agents could try with the terminal of whoever watches. */
const attacks = [
  '\u001B]52;c;ZXZpbA==\u0007',
  '\u001B]52;c;?\u001B\\',
  '\u001B]0;owned\u0007',
  '\u001B]2;owned\u001B\\',
  '\u001B]8;;https://evil.example\u0007click\u001B]8;;\u0007',
  '\u001B]1337;File=inline=1:AAAA\u0007',
  '\u001B]9;notify\u0007',
  '\u001BP$q"p\u001B\\',
  '\u001BP+q544e\u001B\\',
  '\u001B[c',
  '\u001B[>c',
  '\u001B[6n',
  '\u001B[21t',
  '\u001B[?1003h',
  '\u001B[?2004h',
  '\u001B[8;999;999t',
  '\u001B[3J',
  '\u001Bc',
  '\u001B[!p',
  '\u001B[20l\u001B[4h',
  '\u009B31mC1',
  '\u009D0;owned\u009C',
  '\u0090q#0;2;0;0;0\u009C',
  '\u001B_Gf=100;AAAA\u001B\\',
  '\u001B^private\u001B\\',
  'a\u202Eb\u2066c\u2069',
  '\u061C\u200F\u200E',
  `z${'\u0301'.repeat(300)}`,
  '\u001B(0lqqk\u001B(B',
  '\u0000\u0007\u0008\u000B\u000C\u000E\u000F\u007F',
  '\u001B[38;2;300;-1;9999m\u001B[999999999999999999;1Hx',
  '\uD800',
  '\u{E0041}\u{E007F}',
  '\u2028\u2029',
  '\u001B[8mhidden\u001B[0m',
];

test('whatever a program writes, what is shown of it holds no control sequence but colours and columns of our own', async () => {
  for (const attack of attacks) {
    const screen = await openScreen(size);
    await screen.write(`before ${attack} after`);
    const view = screen.view();
    expect([attack, ...view.lines.map(dangerous)]).toEqual([attack, ...view.lines.map(() => '')]);
    expect(dangerous(view.text.join(''))).toBe('');
    screen.close();
  }
  const screen = await openScreen(size);
  await screen.write('\u001B[8mhidden\u001B[0mseen');
  expect(screen.view().text[0]).toBe('      seen');
});

test('shows styles, wide characters and glyphs where they stand', async () => {
  const screen = await openScreen(size);
  await screen.write('\u001B[1;31mred\u001B[0m \u001B[38;2;1;2;3mx\u001B[0m ✳ 漢字 é\u001B[3;5H\u001B[44m \u001B[0m');
  const view = screen.view();
  expect(view.text).toEqual(['red x ✳ 漢字 é', '', '', '', '', '']);
  expect(view.lines[0]).toContain('\u001B[0;1;38;5;1mred\u001B[0m \u001B[0;38;2;1;2;3mx');
  expect(view.lines[0]).toContain('漢\u001B[11G字\u001B[13G');
  expect(view.lines[2]).toBe('    \u001B[0;48;5;4m \u001B[0m');
  expect(view.cursor).toEqual({ row: 2, column: 5 });
});

test('a snapshot draws the same screen on a blank one, and what comes after it goes on there (property)', async () => {
  // Output is decoded from UTF-8, so half a character cannot come; a screen would wait for the other half.
  const piece = oneof(
    constantFrom(
      ...attacks.filter((attack) => attack.isWellFormed()),
      '\u001B[?1049h',
      '\u001B[?1049l',
      '\u001B[2;4r',
      '\u001B[r',
      '\n',
      '\r\n',
      '\u001B[2J',
      '\u001B[H',
    ),
    constantFrom('\u001B[3;7H', '\u001B[A', '\u001B[K', '\u001B[7m', '\u001B[0m', '漢字', 'é', 'plain words', '\t'),
  );
  await assert(
    asyncProperty(array(piece, { maxLength: 30 }), async (pieces) => {
      const first = await openScreen(size);
      await first.write(pieces.join(''));
      const second = await openScreen({ cols: 10, rows: 3 });
      await second.apply({ pty: 'screen', ...first.size(), text: first.snapshot() });
      expect(second.view().text).toEqual(first.view().text);
      expect(first.view().lines.map(dangerous).join('')).toBe('');
      for (const screen of [first, second]) await screen.write('\u001B[0m\u001B[2;2HX');
      expect(second.view().text).toEqual(first.view().text);
      for (const screen of [first, second]) screen.close();
    }),
    { numRuns: 60 },
  );
});

test('a hostile frame costs no memory: sizes have bounds, anything else is no frame', () => {
  expect(clampSize({ cols: 1e9, rows: -5 })).toEqual({ cols: 300, rows: 2 });
  expect(parseTerminalFrame('{"pty":"size","cols":1e308,"rows":"x"}')).toEqual({ pty: 'size', cols: 300, rows: 2 });
  for (const odd of ['', '{', '{"pty":', '{"pty":"own"}', '{"pty":7}', '[]', '{"jsonrpc":"2.0"}'])
    expect(parseTerminalFrame(odd)).toBeUndefined();
  expect(parseTerminalFrame('{"pty":"out"}')).toEqual({ pty: 'out', text: '' });
});

test('no sequence that counts to the moon holds up or ends who watches (field case 52)', async () => {
  const screen = await openScreen(size);
  const started = performance.now();
  for (const final of 'bLMSTIZ@PXABCDEFGHde') await screen.write(`a\u001B[2147483647${final}`);
  expect(performance.now() - started).toBeLessThan(2_000);
  await screen.write('\u001Bc-\u001B[4b');
  expect(screen.view().text[0]).toBe('-----');
  screen.close();
});
