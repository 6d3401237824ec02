import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { pathsOf } from './config/index.ts';
import { ensureNodeId } from './node-id.ts';

function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-node-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { paths: pathsOf(join(folder, 'c')), other: pathsOf(join(folder, 'd')) };
}

test('a home keeps the id of its node, whatever the machine is called; another home has another one', () => {
  const { paths, other } = setup();
  const id = ensureNodeId(paths);
  expect(id).toMatch(/^node-[0-9a-f]{8}$/);
  expect(ensureNodeId(paths)).toBe(id);
  expect(ensureNodeId(other)).not.toBe(id);
});

test('the id is read by its owner only and lies whole in its file', () => {
  const { paths } = setup();
  const id = ensureNodeId(paths);
  const file = join(paths.keys, 'node-id');
  expect(readFileSync(file, 'utf8')).toBe(`${id}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
