import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { watchableAgents } from './agents.ts';
import { installHooks, isInstalled, planHooks, removeHooks } from './hook-file.ts';

const { hooks } = watchableAgents.claude!;
const command = "CHANTIER_HOME='/h' '/p/bin/chantier' watch report claude";

it.each([
  ['tabs and compact lists', '{\n\t"theme": "dark",\n\t"permissions": {"allow": ["Bash(ls:*)"]}\n}\n'],
  ['hooks of the user', '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]},"a":1}'],
  ['carriage returns', '{\r\n  "a": "ünï"\r\n}\r\n'],
  ['an empty object', '{}'],
  ['nothing', ''],
])('leaves a file with %s byte for byte as it was', (_what, text) => {
  const world = setUp();
  writeFileSync(world.file, text);
  chmodSync(world.file, 0o640);
  world.install();
  const installed = readFileSync(world.file, 'utf8');
  expect(isInstalled(world.home, 'claude')).toBe(true);
  expect(eventsWith(installed, command)).toEqual(hooks.map(({ event }) => event).toSorted());
  if (text.includes('mine')) expect(eventsWith(installed, 'mine')).toEqual(['Stop']);
  expect(removeHooks(world.home, 'claude')).toBe('restored');
  expect(readFileSync(world.file, 'utf8')).toBe(text);
  expect(statSync(world.file).mode & 0o777).toBe(0o640);
  expect(removeHooks(world.home, 'claude')).toBe('not-installed');
});

it('takes a file and folders that were not there away again', () => {
  const world = setUp();
  const file = join(world.folder, 'new', 'deep', 'settings.json');
  installHooks(world.home, 'claude', planHooks(file, hooks, command), command);
  expect(existsSync(file)).toBe(true);
  expect(removeHooks(world.home, 'claude')).toBe('restored');
  expect(existsSync(join(world.folder, 'new'))).toBe(false);
});

it('takes only its own hooks out of a file that was changed since', () => {
  const world = setUp();
  writeFileSync(world.file, '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}\n');
  world.install();
  writeFileSync(world.file, readFileSync(world.file, 'utf8').replace('{\n', '{\n  "added": true,\n'));
  expect(removeHooks(world.home, 'claude')).toBe('taken-out');
  const left = JSON.parse(readFileSync(world.file, 'utf8')) as unknown;
  expect(left).toEqual({ added: true, hooks: { Stop: [{ hooks: [{ type: 'command', command: 'mine' }] }] } });
});

it('leaves no empty shell of hooks behind in a file that was changed since', () => {
  const world = setUp();
  writeFileSync(world.file, '{"a": 1}');
  world.install();
  writeFileSync(world.file, readFileSync(world.file, 'utf8').replace('"a": 1', '"a": 2'));
  removeHooks(world.home, 'claude');
  expect(JSON.parse(readFileSync(world.file, 'utf8'))).toEqual({ a: 2 });
});

it.each(['not json', '[]', '"text"', '{"a": 1', 'null'])('touches no file that holds %s', (text) => {
  const world = setUp();
  writeFileSync(world.file, text);
  expect(() => planHooks(world.file, hooks, command)).toThrow(/was not touched/);
  expect(readFileSync(world.file, 'utf8')).toBe(text);
});

it('writes through a link to a file kept elsewhere, and keeps the link', () => {
  const world = setUp();
  const elsewhere = join(world.folder, 'dotfiles.json');
  writeFileSync(elsewhere, '{"a":1}');
  symlinkSync(elsewhere, world.file);
  world.install();
  expect(eventsWith(readFileSync(elsewhere, 'utf8'), command)).toHaveLength(hooks.length);
  removeHooks(world.home, 'claude');
  expect(readFileSync(elsewhere, 'utf8')).toBe('{"a":1}');
  expect(statSync(world.file).isFile()).toBe(true);
});

it('writes nothing over what somebody wrote between the question and the yes', () => {
  const world = setUp();
  writeFileSync(world.file, '{"a":1}');
  const change = planHooks(world.file, hooks, command);
  writeFileSync(world.file, '{"a":2}');
  expect(() => installHooks(world.home, 'claude', change, command)).toThrow(/changed meanwhile/);
  expect(readFileSync(world.file, 'utf8')).toBe('{"a":2}');
});

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-watch-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  mkdirSync(home);
  const file = join(folder, 'settings.json');
  return { folder, home, file, install: () => installHooks(home, 'claude', planHooks(file, hooks, command), command) };
}

function eventsWith(text: string, wanted: string): string[] {
  const content = JSON.parse(text) as { hooks: Record<string, { hooks: { command: string }[] }[]> };
  return Object.entries(content.hooks)
    .filter(([, groups]) => groups.some((group) => group.hooks.some((hook) => hook.command === wanted)))
    .map(([event]) => event)
    .toSorted();
}
