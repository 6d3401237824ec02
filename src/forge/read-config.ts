import { ok, type Result } from '../kernel/index.ts';
import { type Git, gitRecords, type GitPlace, runGit } from './git/index.ts';
import { type Explanation, inferWorkspace } from './infer-workspace.ts';
import { configDigest, parseRepositoryFile, type RepositoryConfig } from './repository-config.ts';

/** The configuration of a repository as it follows from one commit. */
export interface ConfigAtCommit {
  config: RepositoryConfig;
  configSource: 'inferred' | 'file';
  configDigest: string;
  explanations: Explanation[];
}

const fileNames = ['chantier.yml', 'chantier.yaml'];
const largestManifest = 1024 * 1024;

/**
 * Reads `chantier.yml` and the manifests of `commit`; only ever call it with a base commit, never with an agent's
 * (design section 4 "Repository configuration is code"). Refuses `invalid_repository_config`.
 */
export async function readConfigAt(git: Git, place: GitPlace, commit: string): Promise<Result<ConfigAtCommit>> {
  const names = new Set(await gitRecords(git, place, ['ls-tree', '-z', '--name-only', commit]));
  const read = (path: string): Promise<string | undefined> => readBlob(git, place, commit, path);
  const inferred = await inferWorkspace(names, read);
  const fileName = fileNames.find((name) => names.has(name));
  const parsed = fileName ? parseRepositoryFile((await read(fileName)) ?? '', fileName) : undefined;
  if (parsed && !parsed.ok) return parsed;
  const { version: _version, workspace, checks, ...rest } = parsed?.value ?? { version: 1 as const };
  const include = names.has('.worktreeinclude') ? includePatterns((await read('.worktreeinclude')) ?? '') : [];
  const config: RepositoryConfig = {
    ...rest,
    workspace: {
      setup: workspace?.setup ?? inferred.setup,
      copy: workspace?.copy ?? [],
      ...(include.length > 0 ? { include } : {}),
      ...(workspace?.link?.length ? { link: workspace.link } : {}),
      ...(workspace?.ports?.length ? { ports: workspace.ports } : {}),
      ...(workspace?.sparse ? { sparse: workspace.sparse } : {}),
      env: workspace?.env ?? {},
      cacheKey: workspace?.cacheKey ?? (workspace?.setup ? [] : inferred.cacheKey),
      teardown: workspace?.teardown ?? [],
      timeout: workspace?.timeout ?? 1_200_000,
      isCacheable: workspace?.setup ? workspace.cacheKey !== undefined : inferred.isCacheable,
    },
    checks: checks ?? inferred.checks,
  };
  const found = [
    ...inferred.explanations,
    ...include.map((pattern) => ({ what: `copied from your checkout: ${pattern}`, why: '.worktreeinclude names it' })),
  ];
  const said = explain(found, fileName, {
    setup: workspace?.setup !== undefined,
    checks: checks !== undefined,
  });
  return ok({
    config,
    configSource: fileName ? 'file' : 'inferred',
    configDigest: configDigest(config),
    explanations: said,
  });
}

/** A file of a commit as text; `undefined` when it is missing, no regular file, or larger than 1 MiB. */
export async function readBlob(git: Git, place: GitPlace, commit: string, path: string): Promise<string | undefined> {
  const answer = await runGit(git, place, ['ls-tree', '-z', '-l', commit, '--', path]);
  const entry = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t/.exec(answer.stdout.toString('utf8'));
  if (!entry?.[1] || Number(entry[2]) > largestManifest) return undefined;
  return (await runGit(git, place, ['cat-file', 'blob', entry[1]])).stdout.toString('utf8');
}

/** The patterns of a `.worktreeinclude`, which is written like a `.gitignore`; at most 200. */
function includePatterns(text: string): string[] {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  return lines.filter((line) => line.trim() !== '' && !line.startsWith('#')).slice(0, 200);
}

function explain(
  inferred: Explanation[],
  fileName: string | undefined,
  said: { setup: boolean; checks: boolean },
): Explanation[] {
  if (!fileName) return inferred;
  const kept = inferred.filter(({ what }) => (what.startsWith('set-up') ? !said.setup : !said.checks));
  const own = [said.setup ? 'set-up' : '', said.checks ? 'checks' : ''].filter(Boolean);
  return own.length > 0 ? [{ what: own.join(' and '), why: `${fileName} of the base says so` }, ...kept] : kept;
}
