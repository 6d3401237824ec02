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
  let offset = 0;
  for (const mark of await readMarks(path)) {
    if (mark.at > sinceMs) return offset;
    offset = mark.offset;
  }
  return offset;
}

/** The newest marks, in their order: everything before `offset` was there at `at` (epoch ms). */
export async function readMarks(path: string): Promise<{ at: number; offset: number }[]> {
  const text = await readNewest(path);
  return text.split('\n').flatMap((line) => {
    const [at, offset] = line.split(' ').map(Number);
    return at === undefined || offset === undefined || !Number.isSafeInteger(offset) ? [] : [{ at, offset }];
  });
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
