import { closeSync, openSync, readSync } from 'node:fs';
import { ReadStream } from 'node:tty';

import { failWith } from './outcome.ts';

/** The longest passphrase that is read. */
const maxBytes = 4096;

/** Reads a passphrase from an open file descriptor (`--passphrase-fd N`): everything to its end, without the last line feed. */
export function readPassphraseFrom(descriptor: string): string {
  const fd = /^\d{1,4}$/.test(descriptor) ? Number(descriptor) : -1;
  if (fd < 0)
    throw failWith('invalid', 'bad_descriptor', '--passphrase-fd takes the number of an open file descriptor.');
  const bytes = Buffer.alloc(maxBytes);
  let size = 0;
  try {
    while (size < maxBytes) {
      const read = readSync(fd, bytes, size, maxBytes - size, null);
      if (read === 0) break;
      size += read;
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EOF') {
      throw failWith('invalid', 'bad_descriptor', `Cannot read the passphrase from descriptor ${fd}: ${message}.`);
    }
  }
  return bytes.toString('utf8', 0, size).replace(/\r?\n$/, '');
}

/** Asks at `/dev/tty`, without showing what is typed. Throws exit 9 when there is no terminal. */
export async function askPassphrase(question: string, write: (text: string) => void): Promise<string> {
  const fd = openTerminal();
  if (fd === undefined) {
    throw failWith('proof-required', 'no_terminal', 'There is no terminal to ask at: use --passphrase-fd N.');
  }
  const terminal = new ReadStream(fd);
  try {
    write(question);
    terminal.setRawMode(true);
    return await readLine(terminal);
  } finally {
    terminal.setRawMode(false);
    terminal.destroy();
    write('\n');
  }
}

/** Asks at `/dev/tty` for a line that may be seen, such as a yes. */
export async function askLine(question: string, write: (text: string) => void): Promise<string> {
  const fd = openTerminal();
  if (fd === undefined) throw failWith('proof-required', 'no_terminal', 'There is no terminal to ask at.');
  const terminal = new ReadStream(fd);
  try {
    write(question);
    return await readLine(terminal);
  } finally {
    terminal.destroy();
  }
}

/** Whether `/dev/tty` can be opened. */
export function hasTerminal(): boolean {
  const fd = openTerminal();
  if (fd === undefined) return false;
  closeSync(fd);
  return true;
}

function openTerminal(): number | undefined {
  try {
    return openSync('/dev/tty', 'r+');
  } catch {
    return undefined;
  }
}

function readLine(terminal: ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = '';
    terminal.setEncoding('utf8');
    terminal.on('error', reject);
    terminal.on('end', () => resolve(line));
    terminal.on('data', (text: string) => {
      for (const char of text) {
        if (char === '\r' || char === '\n') return resolve(line);
        if (char === '\u0003' || char === '\u0004') {
          return reject(failWith('proof-required', 'interrupted', 'Interrupted; nothing was decided.'));
        }
        if (char === '\u007f' || char === '\b') line = [...line].slice(0, -1).join('');
        else line += char;
      }
    });
  });
}
