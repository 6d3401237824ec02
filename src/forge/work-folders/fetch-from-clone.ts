import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { writeUploadPack } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { gitText, isObjectId, runGit } from '../git/index.ts';
import { shellLine } from '../local/take-over-command.ts';
import { forgePlace, type ForgeRepository } from '../repository.ts';
import type { InSandbox, WorkFolder } from './work-folder.ts';

/** The refs of a clone as its own upload-pack, inside the sandbox, tells them. Untrusted, but well formed. */
export interface CloneRefs {
  /** Branch that HEAD points to; `undefined` = detached or not born. */
  headBranch: string | undefined;
  headCommit: string | undefined;
  /** Full ref name → commit: `refs/heads/*` and `refs/stash`. */
  refs: Map<string, string>;
}

/** Namespace of the forge where fetched refs of a work folder wait to be judged. */
export function incomingRef(folder: Pick<WorkFolder, 'ownerKey'>, name: string): string {
  return `refs/chantier/incoming/${folder.ownerKey}/${name}`;
}

/**
 * Brings every commit of the clone's branches, HEAD and stash into the forge, below `refs/chantier/incoming/<owner>/`.
 * `upload-pack` runs inside the sandbox, so nothing that is planted in the clone's configuration runs outside (X-8); what
 * comes is checked object by object. Throws `Fault` when the clone cannot be read.
 */
export function fetchFromClone(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  inside: InSandbox,
): Promise<CloneRefs> {
  return forge.turns.run(`folder ${folder.ownerKey}`, () => fetchInTurn(forge, repository, folder, inside));
}

async function fetchInTurn(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  inside: InSandbox,
): Promise<CloneRefs> {
  await mkdir(forge.folders.scratch, { recursive: true, mode: 0o700 });
  const state = await mkdtemp(join(forge.folders.scratch, 'take-'));
  try {
    const wrapper = await writeUploadPack(inside.sandbox, {
      workFolder: folder.clone,
      readOnly: [repository.forgeDir],
      stateFolder: state,
      gitProgram: forge.git.path,
    });
    const refs = await listRefs(forge, repository, folder, wrapper);
    const wanted = [...refs.refs].map(([name, id]) => ({ name: name.replace(/^refs\//, ''), id }));
    if (refs.headCommit) wanted.push({ name: 'HEAD', id: refs.headCommit });
    const missing = await withoutKnown(
      forge,
      repository,
      wanted.map(({ id }) => id),
    );
    if (missing.length > 0) await fetchObjects(forge, repository, folder, wrapper, missing);
    const kept = new Set(wanted.map(({ name }) => incomingRef(folder, name)));
    // Deleted first and by itself: a branch `a` that became `a/b` cannot change place within one transaction.
    await changeIncoming(
      forge,
      repository,
      (await staleIncoming(forge, repository, folder, kept)).map((ref) => `delete ${ref}`),
    );
    await changeIncoming(
      forge,
      repository,
      wanted.map(({ name, id }) => `update ${incomingRef(folder, name)} ${id}`),
    );
    return refs;
  } finally {
    await rm(state, { recursive: true, force: true });
  }
}

async function listRefs(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  wrapper: string,
): Promise<CloneRefs> {
  const args = [
    'ls-remote',
    '--quiet',
    '--symref',
    `--upload-pack=${shellLine([wrapper])}`,
    folder.clone,
    'HEAD',
    'refs/heads/*',
    'refs/stash',
  ];
  const text = await gitText(forge.git, forgePlace(repository), args, {
    globPathspecs: true,
    maxOutputBytes: 4 * 1024 * 1024,
    timeoutMs: 60_000,
  });
  const found: CloneRefs = { headBranch: undefined, headCommit: undefined, refs: new Map() };
  for (const line of text.split('\n')) {
    const [left = '', name = ''] = line.split('\t');
    const branch = /^ref: refs\/heads\/(.+)$/.exec(left)?.[1];
    if (branch && name === 'HEAD') found.headBranch = branch;
    else if (isObjectId(left) && name === 'HEAD') found.headCommit = left;
    else if (isObjectId(left) && (name.startsWith('refs/heads/') || name === 'refs/stash')) found.refs.set(name, left);
  }
  if (found.refs.size > 1000)
    throw new Fault(
      'too_many_refs',
      `The clone of ${folder.ownerKey} has ${found.refs.size} branches; at most 1000 are taken.`,
    );
  return found;
}

async function withoutKnown(forge: Forge, repository: ForgeRepository, ids: string[]): Promise<string[]> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return [];
  // A commit alone is not enough: everything below it must be there too, so only what our own refs reach counts as known.
  const reachable = await Promise.all(unique.map((id) => isReachable(forge, repository, id)));
  return unique.filter((_, at) => !reachable[at]);
}

async function isReachable(forge: Forge, repository: ForgeRepository, id: string): Promise<boolean> {
  const known = await runGit(forge.git, forgePlace(repository), ['cat-file', '-e', `${id}^{commit}`], {
    answers: [0, 1, 128],
  });
  if (known.exitCode !== 0) return false;
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${id}`];
  return (await gitText(forge.git, forgePlace(repository), args)) !== '';
}

async function fetchObjects(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  wrapper: string,
  ids: string[],
): Promise<void> {
  const specs = ids.map((id) => `+${id}:${incomingRef(folder, `objects/${id}`)}`);
  const args = [
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    `--upload-pack=${shellLine([wrapper])}`,
    folder.clone,
    ...specs,
  ];
  await runGit(forge.git, forgePlace(repository), args, {
    timeoutMs: 600_000,
    config: { 'fetch.fsckObjects': 'true' },
  });
}

async function changeIncoming(forge: Forge, repository: ForgeRepository, lines: string[]): Promise<void> {
  if (lines.length === 0) return;
  await runGit(forge.git, forgePlace(repository), ['update-ref', '--stdin'], { input: `${lines.join('\n')}\n` });
}

/** Refs of an earlier fetch that the clone does not have any more. */
async function staleIncoming(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  kept: ReadonlySet<string>,
): Promise<string[]> {
  const names = await gitText(forge.git, forgePlace(repository), [
    'for-each-ref',
    '--format=%(refname)',
    incomingRef(folder, ''),
  ]);
  return names.split('\n').filter((name) => name !== '' && !kept.has(name));
}
