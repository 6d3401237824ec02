import { basename, join } from 'node:path';
import { access, readdir } from 'node:fs/promises';

import { forLog, ok, refuse, type Result } from '../kernel/index.ts';
import { type Forge, viewCheckout } from './forge.ts';
import {
  type Checkout,
  countStashes,
  type DirtyState,
  locateCheckout,
  readHead,
  readPackedRefs,
  readRef,
  readRegularText,
  readStatus,
  remotesOf,
  type View,
} from './git/index.ts';
import type { Explanation } from './infer-workspace.ts';
import { noteLimits } from './note-limits.ts';
import { readConfigAt } from './read-config.ts';
import type { RepositoryConfig } from './repository-config.ts';

/** How reviewed work reaches the team (design section 6 "What may land"). */
export type LandingMode = 'base' | 'branch' | 'pull-request';

/** Everything that is known about a checkout without a word from the operator; nothing was written to find it. */
export interface DetectedRepository {
  name: string;
  checkout: Checkout;
  base: string;
  baseCommit: string;
  /** Branch that is checked out; `undefined` when HEAD is detached. */
  headBranch: string | undefined;
  remotes: { name: string; url: string }[];
  mode: LandingMode;
  /** Set where `origin` is on GitHub; the adapter comes with credentials. */
  github: { slug: string } | undefined;
  dirty: DirtyState;
  /** A merge, rebase or the like that is not finished. */
  operationInProgress: string | undefined;
  config: RepositoryConfig;
  configSource: 'inferred' | 'file';
  configDigest: string;
  explanations: Explanation[];
  /** What a work folder will not hold or reach, one sentence each. */
  notes: string[];
}

/**
 * Looks at the checkout that holds `path`. `base` names the base branch; default is the branch of `origin/HEAD`, else the
 * one that is checked out. Refuses with codes `path_missing`, `not_a_repository`, `bare_repository`, `no_commits`,
 * `detached_head`, `base_missing`, `unsupported_ref_storage`, `partial_clone`, `invalid_repository_config`.
 */
export async function detectRepository(
  forge: Forge,
  path: string,
  options: { base?: string } = {},
): Promise<Result<DetectedRepository>> {
  const located = await locateCheckout(path);
  if (!located.ok) return located;
  const checkout = located.value;
  const view = await viewCheckout(forge, checkout);
  try {
    return await describe(forge, view, options.base);
  } finally {
    await view.close();
  }
}

async function describe(forge: Forge, view: View, wantedBase: string | undefined): Promise<Result<DetectedRepository>> {
  const { checkout, settings } = view;
  const unsupported = refuseUnsupported(checkout, settings);
  if (unsupported) return unsupported;
  const head = await readHead(checkout);
  const base = await chooseBase(checkout, head, wantedBase);
  if (!base.ok) return base;
  const config = await readConfigAt(forge.git, view.place, base.value.commit);
  if (!config.ok) return config;
  const namedBase = config.value.config.repository?.base;
  if (wantedBase === undefined && namedBase !== undefined && namedBase !== base.value.name)
    return describe(forge, view, namedBase);
  const remotes = remotesOf(settings).map(({ name, url }) => ({ name, url: withoutPassword(url) }));
  const status = await readStatus(forge.git, view.withFiles);
  const github = /github\.com[:/]([\w.-]+\/[\w.-]+?)(?:\.git)?\/?$/.exec(remotes[0]?.url ?? '')?.[1];
  return ok({
    name: basename(checkout.top),
    checkout,
    base: base.value.name,
    baseCommit: base.value.commit,
    headBranch: head.branch,
    remotes,
    mode: remotes.length === 0 ? 'base' : 'branch',
    github: github ? { slug: github } : undefined,
    dirty: { ...status, stashCount: await countStashes(checkout) },
    operationInProgress: await operationInProgress(checkout),
    notes: await noteLimits(forge, view, base.value.commit),
    ...config.value,
  });
}

function refuseUnsupported(checkout: Checkout, settings: View['settings']): Result<never> | undefined {
  const storage = settings.get('extensions.refstorage');
  if (storage && storage !== 'files')
    return refuse(
      'invalid',
      'unsupported_ref_storage',
      `${checkout.top} keeps its refs as ${forLog(storage)}; only the files format is read. Clone it with --ref-format=files.`,
    );
  if (settings.has('extensions.partialclone') || [...settings.keys()].some((key) => /^remote\..+\.promisor$/.test(key)))
    return refuse(
      'invalid',
      'partial_clone',
      `${checkout.top} is a partial clone: objects are missing and nothing is fetched unasked. Run \`git fetch --refetch --no-filter\` there, or use a full clone.`,
    );
  return undefined;
}

async function chooseBase(
  checkout: Checkout,
  head: Awaited<ReturnType<typeof readHead>>,
  wanted: string | undefined,
): Promise<Result<{ name: string; commit: string }>> {
  if (wanted !== undefined) {
    const commit = await readRef(checkout, `refs/heads/${wanted}`);
    if (commit) return ok({ name: wanted, commit });
    const branches = await listBranches(checkout);
    const known =
      branches.length > 0
        ? ` Branches there: ${branches
            .slice(0, 10)
            .map((name) => forLog(name, 80))
            .join(', ')}.`
        : '';
    return refuse(
      'not-found',
      'base_missing',
      `${checkout.top} has no branch ${forLog(wanted, 80)}.${known} Name one with --base.`,
      { base: wanted },
    );
  }
  const preferred = await remoteDefault(checkout);
  if (preferred) return ok(preferred);
  if (head.branch === undefined)
    return refuse(
      'invalid',
      'detached_head',
      `HEAD of ${checkout.top} is detached, so the base is not clear. Check a branch out, or name one with --base.`,
    );
  if (!head.commit)
    return refuse(
      'invalid',
      'no_commits',
      `${checkout.top} has no commits yet. Make a first commit (git commit --allow-empty -m "first"), then try again.`,
    );
  return ok({ name: head.branch, commit: head.commit });
}

/** The local branch of the same name as the remote's default, where there is one. */
async function remoteDefault(checkout: Checkout): Promise<{ name: string; commit: string } | undefined> {
  const target = await readRegularText(join(checkout.commonDir, 'refs', 'remotes', 'origin', 'HEAD'), 4096);
  const name = /^ref: refs\/remotes\/origin\/(.+)$/.exec(target ?? '')?.[1];
  const commit = name ? await readRef(checkout, `refs/heads/${name}`) : undefined;
  return name && commit ? { name, commit } : undefined;
}

async function listBranches(checkout: Checkout): Promise<string[]> {
  const loose = await readdir(join(checkout.commonDir, 'refs', 'heads'), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => []);
  const root = join(checkout.commonDir, 'refs', 'heads');
  const names = loose
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  const packed = [...(await readPackedRefs(checkout)).keys()]
    .filter((ref) => ref.startsWith('refs/heads/'))
    .map((ref) => ref.slice(11));
  return [...new Set([...names, ...packed])].toSorted();
}

/** The unfinished operation of a checkout, by the files that git leaves for it. */
export async function operationInProgress(checkout: Checkout): Promise<string | undefined> {
  const traces: [string, string][] = [
    ['MERGE_HEAD', 'merge'],
    ['rebase-merge', 'rebase'],
    ['rebase-apply', 'rebase'],
    ['CHERRY_PICK_HEAD', 'cherry-pick'],
    ['REVERT_HEAD', 'revert'],
    ['BISECT_LOG', 'bisect'],
    ['index.lock', 'other git command (index.lock is there)'],
  ];
  for (const [file, name] of traces) {
    if (
      await access(join(checkout.gitDir, file)).then(
        () => true,
        () => false,
      )
    )
      return name;
  }
  return undefined;
}

function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/)[^/@]*@/, '$1');
}
