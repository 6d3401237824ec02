import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { buildEnvironment, type Sandbox, type SandboxProfile } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import type { GitIdentity } from '../git/index.ts';
import type { ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { linkedPaths } from './link-operator-files.ts';

/** One session's (or candidate's) folder. `root` is the server's; the four below are what a sandbox may show. */
export interface WorkFolder {
  ownerKey: string;
  repositoryId: string;
  purpose: 'author' | 'reviewer' | 'candidate';
  root: string;
  clone: string;
  home: string;
  cache: string;
  tmp: string;
  /** Branch that is checked out; `undefined` = detached at `startCommit`. */
  branch: string | undefined;
  startCommit: string;
  /** Leased port numbers by name; `default` is `PORT`. Left out = none. */
  ports?: Readonly<Record<string, number>>;
}

/** What every run of git inside a work folder needs from the instance. */
export interface InSandbox {
  sandbox: Sandbox;
  /** Toolchain folders outside of the system's, absolute: on PATH inside (their `bin`) and readable. */
  toolchains?: readonly { bin: string; readOnly: readonly string[] }[];
  network?: SandboxProfile['network'];
  /** Variables of every command inside: certificate authorities, places of toolchains. */
  env?: Readonly<Record<string, string>>;
  /** Files and folders that these variables name. */
  readOnly?: readonly string[];
  /** Names of repositories whose programs may make namespaces of their own. */
  nestedRepositories?: readonly string[];
}

/** The folder of `ownerKey` (a session's or landing's id: letters, digits, `.`, `_`, `-`). Nothing is created. */
export function workFolderAt(
  forge: Forge,
  folder: Pick<WorkFolder, 'ownerKey' | 'repositoryId' | 'purpose' | 'branch' | 'startCommit'>,
): WorkFolder {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(folder.ownerKey))
    throw new Error(`not a folder name: ${folder.ownerKey}`);
  const root = join(forge.folders.work, folder.ownerKey);
  const { ownerKey, repositoryId, purpose, branch, startCommit } = folder;
  const below = {
    clone: join(root, 'clone'),
    home: join(root, 'home'),
    cache: join(root, 'cache'),
    tmp: join(root, 'tmp'),
  };
  return { ownerKey, repositoryId, purpose, branch, startCommit, root, ...below };
}

/** Patterns of files that set-up made and git should not show; server-owned, named in the private git configuration. */
export function excludeFile(folder: Pick<WorkFolder, 'root'>): string {
  return join(folder.root, 'exclude');
}

/** Paths that must be readable inside: the forge's repository (objects are borrowed), the excludes, what `workspace.link` names. */
export function readOnlyPaths(
  repository: Pick<ForgeRepository, 'forgeDir'> & Partial<Parameters<typeof linkedPaths>[0]>,
  folder: Pick<WorkFolder, 'root' | 'purpose'>,
): string[] {
  const { operatorPath, config } = repository;
  const linked =
    folder.purpose !== 'reviewer' && operatorPath !== undefined && config ? linkedPaths({ operatorPath, config }) : [];
  return [repository.forgeDir, excludeFile(folder), ...linked];
}

/** The environment of everything that runs in a work folder; `set` adds or overrides single variables. */
export function workFolderEnvironment(
  folder: WorkFolder,
  options: {
    identity?: GitIdentity;
    env?: Readonly<Record<string, string>>;
    inside?: Pick<InSandbox, 'toolchains' | 'env'>;
    set?: Readonly<Record<string, string>>;
  } = {},
): Record<string, string> {
  return buildEnvironment({
    home: folder.home,
    path: (options.inside?.toolchains ?? []).map((toolchain) => toolchain.bin),
    ...(options.identity ? { git: options.identity } : {}),
    set: {
      TMPDIR: folder.tmp,
      XDG_CACHE_HOME: folder.cache,
      npm_config_cache: join(folder.cache, 'npm'),
      npm_config_update_notifier: 'false',
      PIP_CACHE_DIR: join(folder.cache, 'pip'),
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      CARGO_HOME: join(folder.cache, 'cargo'),
      GOCACHE: join(folder.cache, 'go-build'),
      GOMODCACHE: join(folder.cache, 'go-mod'),
      COMPOSE_PROJECT_NAME: `chantier-${folder.ownerKey.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '-')}`,
      CHANTIER_WORK_FOLDER: folder.clone,
      CHANTIER_DATABASE_NAME: databaseName(folder),
      ...portVariables(folder),
      ...options.inside?.env,
      ...options.env,
      ...options.set,
    },
  });
}

/** The profile under which a command of kind `kind` runs in `folder`. */
export function workFolderProfile(
  kind: SandboxProfile['kind'],
  repository: Parameters<typeof readOnlyPaths>[0] & { name?: string },
  folder: WorkFolder,
  options: {
    inside: InSandbox;
    env: Readonly<Record<string, string>>;
    cwd?: string;
    access?: 'read-write' | 'read-only';
    memoryBytes?: number;
  },
): SandboxProfile {
  const { toolchains = [], readOnly = [], nestedRepositories = [] } = options.inside;
  const carried = [...toolchains.flatMap((toolchain) => toolchain.readOnly), ...readOnly];
  return {
    kind,
    workFolder: folder.clone,
    workFolderAccess: options.access ?? 'read-write',
    home: folder.home,
    readOnly: [...readOnlyPaths(repository, folder), ...new Set(carried)],
    writable: [folder.cache, folder.tmp],
    socketFolders: [],
    env: options.env,
    cwd: options.cwd ?? folder.clone,
    network: options.inside.network ?? { kind: 'none' },
    nested: repository.name !== undefined && nestedRepositories.includes(repository.name),
    limits: options.memoryBytes === undefined ? {} : { memoryBytes: options.memoryBytes },
  };
}

/** A name for a database that no other folder has, as PostgreSQL and MySQL take it without quotes; at most 63 characters. */
export function databaseName(folder: Pick<WorkFolder, 'ownerKey'>): string {
  const key = folder.ownerKey.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');
  // Keys are ids that differ in their end.
  return `chantier_${key.slice(-54)}`;
}

function portVariables({ ports = {} }: Pick<WorkFolder, 'ports'>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [
      name === 'default' ? 'PORT' : `CHANTIER_PORT_${name.toUpperCase().replaceAll('-', '_')}`,
      String(port),
    ]),
  );
}

/** Environment variables that a repository's configuration sets, with `{owner}`, `{branch}`, `{database}`, `{port}` and `{port.NAME}` filled in. */
export function configuredEnvironment(
  config: Pick<RepositoryConfig, 'workspace'>,
  folder: WorkFolder,
): Record<string, string> {
  const ports = Object.entries(folder.ports ?? {}).map(([name, port]) => [`port.${name}`, String(port)]);
  const values: Record<string, string> = {
    owner: folder.ownerKey,
    branch: folder.branch ?? '',
    database: databaseName(folder),
    port: String(folder.ports?.default ?? ''),
    ...Object.fromEntries(ports),
  };
  return Object.fromEntries(
    Object.entries(config.workspace.env).map(([name, value]) => {
      if (name.startsWith('CHANTIER_'))
        throw new Fault('environment_name_refused', `workspace.env may not set ${name}.`);
      const filled = value.replaceAll(/\{(owner|branch|database|port(?:\.[a-z0-9-]+)?)\}/g, (whole, key: string) =>
        Object.hasOwn(values, key) ? (values[key] ?? '') : whole,
      );
      return [name, filled];
    }),
  );
}
