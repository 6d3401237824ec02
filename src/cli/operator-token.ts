import { readFileSync } from 'node:fs';

/** The operator CLI's token; `undefined` when the instance has none yet. Who may read the file is the server's care. */
export function readOperatorToken(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
