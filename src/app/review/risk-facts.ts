import { type ChangedFile, changedFiles, type Repository } from '../../forge/index.ts';
import { holdsSecret, type FileFact, type PullRequest, type RiskFacts } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { readFilePatches } from './file-patches.ts';

/** Patches larger than this, alone or together, are judged as incomplete. */
const maxPatchBytes = 8 * 1024 * 1024;

/** What git says of a pull request's live head; a diff that cannot be read is said, and is critical (P5). */
export async function readRiskFacts(
  ctx: AppContext,
  repository: Repository,
  pullRequest: PullRequest,
): Promise<RiskFacts> {
  try {
    const change = await changedFiles(ctx.forge, repository, pullRequest.baseSha, pullRequest.headSha);
    const patches = await readFilePatches(
      ctx,
      repository,
      { base: pullRequest.baseSha, head: pullRequest.headSha, files: change.files },
      { fileBytes: maxPatchBytes, totalBytes: maxPatchBytes },
    );
    return {
      isDiffMissing: false,
      isTruncated: patches.some((patch) => patch.notShown !== null),
      files: change.files.map(fileFact),
      changedScripts: change.changedScripts.map((path) => ({ path, name: 'scripts' })),
      skippedTests: change.skippedTests,
      secrets: patches.filter((patch) => holdsSecret(patch.addedLines)).map((patch) => patch.file.path),
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
