import { dirname, join } from 'node:path';
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';

/** Heads that were printed, by the id of their pull request; the oldest are forgotten. */
const maxKept = 100;

/** Where it lies: beside the token of an open terminal, in the user's own runtime folder. */
export function seenFileOf(unlockFile: string): string {
  return join(
    dirname(unlockFile),
    `${unlockFile
      .split('/')
      .at(-1)
      ?.replace(/\.unlock$/, '')}.seen.json`,
  );
}

/** The head of a pull request that `pr show` printed last, or `undefined`. */
export function readSeenHead(file: string, pullRequestId: string): string | undefined {
  return read(file)[pullRequestId];
}

/** Remembers the head that was just printed; what cannot be written is not remembered, and then `--head` is asked for. */
export function rememberSeenHead(file: string, pullRequestId: string, head: string): void {
  const { [pullRequestId]: _old, ...others } = read(file);
  const kept = [...Object.entries(others).slice(1 - maxKept), [pullRequestId, head]];
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(Object.fromEntries(kept))}\n`, { mode: 0o600 });
    renameSync(draft, file);
  } catch {
    return;
  }
}

function read(file: string): Record<string, string> {
  try {
    const { uid, mode } = statSync(file);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return {};
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(Object.entries(value).filter(([, head]) => typeof head === 'string'));
  } catch {
    return {};
  }
}
