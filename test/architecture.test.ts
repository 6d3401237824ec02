import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { importFaults, lengthFaults, mayImport } from './architecture/layers.ts';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '');
const sources = files.flatMap((file) => {
  try {
    return [[file, readFileSync(file, 'utf8')] as const];
  } catch {
    return []; // deleted but not committed yet
  }
});

test('every import follows the direction of design section 3 and enters folders by their index.ts', () => {
  expect(sources.flatMap(([file, source]) => importFaults(file, source))).toEqual([]);
});

test('no file is longer than the limit', () => {
  expect(sources.flatMap(([file, source]) => lengthFaults(file, source))).toEqual([]);
});

test('every folder of src has its row in the table', () => {
  const folders = new Set(sources.flatMap(([file]) => (/^src\/[^/]+\//.test(file) ? [file.split('/')[1]] : [])));
  expect([...folders].filter((folder) => !Object.hasOwn(mayImport, folder ?? ''))).toEqual([]);
});

test('the check bites: a planted violation of each kind is named', () => {
  expect(importFaults('src/ledger/x.ts', `import { a } from '../sessions/index.ts';`)).toEqual([
    'src/ledger/x.ts imports src/sessions/index.ts: ledger may import kernel, config, wire, terminal, store, sandbox',
  ]);
  expect(importFaults('src/app/x.ts', `export { a } from '../ledger/claim-task.ts';`)).toEqual([
    'src/app/x.ts imports src/ledger/claim-task.ts: enter ledger through src/ledger/index.ts',
  ]);
  expect(importFaults('src/kernel/x.ts', `await import('../store/index.ts');`)).toHaveLength(1);
  expect(importFaults('web/app.tsx', `import { a } from '../src/store/index.ts';`)).toHaveLength(1);
  expect(lengthFaults('src/kernel/x.ts', 'x\n'.repeat(401))).toHaveLength(1);
});

test('each state column is written by its own domain only (S-61)', () => {
  const owners: Record<string, string> = {
    session: 'sessions',
    task: 'ledger',
    job: 'ledger',
    project: 'ledger',
    pull_request: 'review',
    capability: 'gate',
    escalation: 'sessions',
  };
  const strays = sources.flatMap(([file, source]) => {
    if (!file.startsWith('src/') || file.endsWith('.test.ts')) return [];
    return Object.entries(owners).flatMap(([table, owner]) =>
      new RegExp(`(updateTable|insertInto|deleteFrom)\\('${table}'\\)`).test(source) &&
      !file.startsWith(`src/${owner}/`)
        ? [`${file} writes ${table}, which belongs to src/${owner}`]
        : [],
    );
  });
  expect(strays).toEqual([]);
});
