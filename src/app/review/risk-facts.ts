import { changedFiles, patchOf, type Repository } from '../../forge/index.ts';
import { holdsSecret, type FileFact, type PullRequest, type RiskFacts } from '../../review/index.ts';
import type { AppContext } from '../context.ts';

/** A patch larger than this is judged as incomplete. */
const maxPatchBytes = 8 * 1024 * 1024;

/** What git says of a pull request's live head; a diff that cannot be read is said, and is critical (P5). */
export async function readRiskFacts(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<RiskFacts> {
  try {
    const change = await changedFiles(ctx.forge, repository, pullRequest.baseSha, pullRequest.headSha);
    const patch = await patchOf(ctx.forge, repository, pullRequest.baseSha, pullRequest.headSha, {
      maxBytes: maxPatchBytes,
    });
    const added = addedLinesByFile(patch.text);
    return {
      isDiffMissing: false,
      isTruncated: patch.isCut,
      files: change.files.map(fileFact),
      changedScripts: change.changedScripts.map((path) => ({ path, name: 'scripts' })),
      skippedTests: change.skippedTests,
      secrets: [...added].filter(([, lines]) => holdsSecret(lines)).map(([path]) => path),
      hasForeignTrailer: false, // such a head gets no candidate at all (`forged_trailer`)
    };
  } catch (error) {
    ctx.log.warn(
      { err: error, pullRequest: pullRequest.id },
      'the diff could not be read; the change counts as critical',
    );
    return {
      isDiffMissing: true,
      isTruncated: true,
      files: [],
      changedScripts: [],
      skippedTests: [],
      secrets: [],
      hasForeignTrailer: false,
    };
  }
}

type ChangedFile = Awaited<ReturnType<typeof changedFiles>>['files'][number];

function fileFact(file: ChangedFile): FileFact {
  const mode = file.isGitlink ? '160000' : file.isSymlink ? '120000' : file.modeChanged ? '100755' : '100644';
  return {
    path: file.path,
    ...(file.oldPath === undefined ? {} : { oldPath: file.oldPath }),
    status: file.status,
    oldMode: file.status === 'added' ? '000000' : file.modeChanged ? '100644' : mode,
    newMode: file.status === 'deleted' ? '000000' : mode,
    added: file.added ?? null,
    removed: file.deleted ?? null,
    isBinary: file.isBinary,
    ...(file.isSymlink ? { linkLeavesTree: file.leavesTree } : {}),
  };
}

/** Added lines of a patch by file, without their `+`. */
export function addedLinesByFile(patch: string): Map<string, string[]> {
  const byFile = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of patch.split('\n')) {
    if (line.startsWith('+++ ')) {
      lines = [];
      byFile.set(line.slice(4).replace(/^b\//, ''), lines);
    } else if (line.startsWith('+')) {
      lines.push(line.slice(1));
    }
  }
  return byFile;
}
