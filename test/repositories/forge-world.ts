import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import { pathsOf } from '../../src/config/index.ts';
import {
  applyBaseSync,
  type BaseSync,
  createWorkFolder,
  detectRepository,
  type Forge,
  forgeFolders,
  type InSandbox,
  importBase,
  openForge,
  registerRepository,
  type Repository,
  trustRepository,
  type WorkFolder,
} from '../../src/forge/index.ts';
import { type Actor, mustOk, newId } from '../../src/kernel/index.ts';
import { openSandbox, type Sandbox } from '../../src/sandbox/index.ts';
import type { Store } from '../../src/store/index.ts';

/** Who decides in these tests. */
export const operator: Actor = { kind: 'operator', id: 'op', channel: 'terminal' };
/** Who commits in work folders. */
export const turing = { name: 'turing', email: 'turing@agents.invalid' };

/** A private instance of the forge with a place for fixtures, removed when the test ends. */
export interface ForgeWorld {
  forge: Forge;
  inside: InSandbox;
  /** Fixtures go below this. */
  folder: string;
  home: string;
}

/** Opens a world for the running test, or (with `keep`) for the caller to remove. */
export async function openForgeWorld(options: { keep?: boolean; sandbox?: Sandbox } = {}): Promise<ForgeWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-forge-'));
  if (!options.keep) onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const forge = mustOk(await openForge({ folders: forgeFolders(pathsOf(home)), personHome: join(folder, 'person') }));
  const sandbox = options.sandbox ?? (await openSandbox({ mode: 'none' })).sandbox;
  if (!sandbox) throw new Error('the driver none is always there');
  return { forge, inside: { sandbox }, folder, home };
}

/** Detects and imports a checkout, as a trusted repository that lies in no store. */
export async function adoptRepository({ forge }: Pick<ForgeWorld, 'forge'>, path: string): Promise<Repository> {
  const detected = mustOk(await detectRepository(forge, path));
  const id = newId<Repository['id']>();
  const { name, base, mode, config, configSource, configDigest } = detected;
  const repository: Repository = {
    id,
    name,
    operatorPath: detected.checkout.top,
    base,
    mode,
    remote: detected.remotes[0],
    forgeDir: join(forge.folders.forge, `${id}.git`),
    config,
    isTrusted: true,
    latest: { config, source: configSource, digest: configDigest },
    isLatestTrusted: true,
    trustedSource: configSource,
    createdAt: 0,
  };
  await syncBase(forge, repository);
  return repository;
}

/** Registers and trusts in a store. */
export async function registerIn(
  store: Store,
  forge: Forge,
  detected: Parameters<typeof registerRepository>[1]['detected'],
): Promise<Repository> {
  const request = { detected, forgeFolder: forge.folders.forge, actor: operator };
  const registered = mustOk(await store.tx((tx) => registerRepository(tx, request)));
  const trust = { id: registered.id, digest: registered.latest.digest, actor: operator };
  return mustOk(await store.tx((tx) => trustRepository(tx, trust)));
}

/** Imports the operator's base and applies the move, as the saga does. */
export async function syncBase(forge: Forge, repository: Repository): Promise<BaseSync> {
  const sync = mustOk(await importBase(forge, repository));
  if (sync.kind === 'move') mustOk(await applyBaseSync(forge, repository, sync));
  return sync;
}

/** An author's folder on a branch of its own at the base tip. */
export async function openAuthorFolder(
  { forge, inside }: Pick<ForgeWorld, 'forge' | 'inside'>,
  repository: Repository,
  startCommit: string,
  options: { ownerKey?: string; branch?: string } = {},
): Promise<WorkFolder> {
  return createWorkFolder(forge, repository, {
    ownerKey: options.ownerKey ?? 'session-1',
    purpose: 'author',
    branch: options.branch ?? 'chantier/turing/issue-1',
    startCommit,
    identity: turing,
    sandbox: inside.sandbox,
  });
}
