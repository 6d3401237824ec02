import { appendFile, open } from 'node:fs/promises';

/** How many bytes of the newest marks are looked at: days of a busy session. */
const maxBytes = 1024 * 1024;

/** Notes that everything before `offset` of the journal was there at `at` (epoch ms). Journals carry no time of their own. */
export function appendMark(path: string, at: number, offset: number): Promise<void> {
  return appendFile(path, `${at} ${offset}\n`, { mode: 0o600 });
}

/**
 * The newest offset of a journal before which nothing came after `sinceMs`; 0 without marks. While no server looked there are
 * none, and after a clock was set they may lie: what is shown may begin earlier, never later.
 */
export async function findOffsetSince(path: string, sinceMs: number): Promise<number> {
  const text = await readNewest(path);
  let offset = 0;
  for (const line of text.split('\n')) {
    const [at, mark] = line.split(' ').map(Number);
    if (at === undefined || mark === undefined || !Number.isSafeInteger(mark)) continue;
    if (at > sinceMs) return offset;
    offset = mark;
  }
  return offset;
}

async function readNewest(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return '';
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    await file.read(bytes, 0, bytes.length, size - bytes.length);
    const text = bytes.toString('latin1');
    return size > maxBytes ? text.slice(text.indexOf('\n') + 1) : text;
  } finally {
    await file.close();
  }
}
