import { join } from 'node:path';

import { expect, test } from 'vitest';

import {
  makeComposeRepository,
  makeDirtyRepository,
  makeDjangoRepository,
  makeHuskyRepository,
  makeLfsRepository,
  makeMakeRepository,
  makeNpmRepository,
  makePnpmRepository,
  makeProtectedRepository,
  makeRustRepository,
  makeShallowRepository,
  makeSubmoduleUser,
  openForgeWorld,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { detectRepository } from './index.ts';

/** Maker, how it lands, set-up, check, and a word of each note. */
const fixtures: readonly [(folder: string) => string, 'base' | 'branch', string[], string, string[]][] = [
  [makePnpmRepository, 'base', ['pnpm install --frozen-lockfile'], 'pnpm test', []],
  [
    makeDjangoRepository,
    'base',
    ['python3 -m venv .venv', '.venv/bin/pip install -r requirements.txt'],
    '.venv/bin/python manage.py test',
    [],
  ],
  [makeRustRepository, 'base', ['cargo fetch --locked'], 'cargo test --offline', []],
  [makeMakeRepository, 'base', [], 'make check', []],
  [makeSubmoduleUser, 'base', [], 'make check', ['1 submodule:']],
  [makeLfsRepository, 'base', [], 'make check', ['git-lfs']],
  [makeHuskyRepository, 'base', ['npm ci --no-audit --no-fund'], 'npm test', ['.husky']],
  [makeComposeRepository, 'base', [], 'make check', ['compose']],
  [makeDirtyRepository, 'base', [], 'make check', []],
  [makeShallowRepository, 'branch', [], 'make check', []],
  [makeNpmRepository, 'base', ['npm ci --no-audit --no-fund'], 'npm test', []],
  [makeProtectedRepository, 'branch', [], 'make check', []],
];

test.each(fixtures.map((fixture) => [fixture[0].name, ...fixture] as const))(
  '%s: base, landing, set-up and check are found without a line of configuration (design 8)',
  async (name, make, mode, setup, check, notes) => {
    const { forge, folder } = await openForgeWorld();
    const found = mustOk(await detectRepository(forge, make(join(folder, name))));
    expect(found).toMatchObject({ base: 'main', mode, configSource: 'inferred' });
    expect(found.config.workspace.setup.map((argv) => argv.join(' '))).toEqual(setup);
    expect(found.config.checks).toMatchObject([{ run: check.split(' ') }]);
    expect(found.notes).toHaveLength(notes.length);
    notes.forEach((word, at) => expect(found.notes[at]).toContain(word));
  },
);
