import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { pathsOf } from './config/index.ts';
import { openLog } from './open-log.ts';

function logsOf(keep: number, lines: number): { name: string; lines: { at: number }[] }[] {
  const home = mkdtempSync(join(tmpdir(), 'chantier-log-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const paths = pathsOf(home);
  for (const part of [0, 1]) {
    // Opened twice, as by a server that was started again.
    const log = openLog(paths, { level: 'info', bounds: () => ({ maxBytes: 4_000, keep }) });
    for (let line = 0; line < lines / 2; line += 1) log.info({ at: (part * lines) / 2 + line }, 'x'.repeat(100));
  }
  return readdirSync(paths.logs)
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(paths.logs, name), 'utf8');
      expect(statSync(join(paths.logs, name)).mode & 0o777).toBe(0o600);
      expect(text.length).toBeLessThan(4_400);
      return {
        name,
        lines: text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      };
    });
}

it('a log of weeks does not fill the disk: bounded by size and count, the newest lines kept, none torn (issue 5)', () => {
  const logs = logsOf(3, 1_000);
  expect(logs.map(({ name }) => name)).toEqual(['server.log', 'server.log.1', 'server.log.2', 'server.log.3']);
  const numbers = logs.toReversed().flatMap(({ lines }) => lines.map(({ at }) => at));
  expect(numbers.at(-1)).toBe(999);
  expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
});

it('keeps the present file alone where none besides is wanted', () => {
  expect(logsOf(0, 200).map(({ name }) => name)).toEqual(['server.log']);
});
