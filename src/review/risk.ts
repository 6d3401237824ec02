import { matchesGlob } from '../kernel/index.ts';
import { type ChangedFile, type ChangeRisk, higherRisk, type RiskReason } from './pull-request.ts';
import { documentationGlobs, generatedGlobs, pathRules, testGlobs } from './risk-rules.ts';

/** One changed file as git tells it, merge base to head. */
export interface FileFact {
  path: string;
  /** Where it was before, for renames and copies. */
  oldPath?: string;
  status: 'added' | 'modified' | 'deleted' | 'renamed' | 'copied' | 'type-changed';
  /** Octal, `100644`; `120000` = symbolic link, `160000` = gitlink; `000000` where there is none. */
  oldMode: string;
  newMode: string;
  /** Lines; null for binary files. */
  added: number | null;
  removed: number | null;
  isBinary: boolean;
  /** For a symbolic link at the head: whether its target lies outside of the tree. */
  linkLeavesTree?: boolean;
}

/** What git says of a change; nothing in it comes from an agent's words. */
export interface RiskFacts {
  /** The diff could not be read: critical (P5). */
  isDiffMissing: boolean;
  /** Files were left out of the list. */
  isTruncated: boolean;
  files: readonly FileFact[];
  /** Names of `scripts` in a package.json that were added, changed or removed, with their file. */
  changedScripts: readonly { path: string; name: string }[];
  /** Files in which added lines skip a test (`skippedTests` of this domain finds them). */
  skippedTests: readonly string[];
  /** Files with added lines that look like a secret (`secretsIn`). */
  secrets: readonly string[];
  /** A commit of the agent carries our trailer: refused at landing, critical before (decision 5). */
  hasForeignTrailer: boolean;
}

/** `risk` of the configuration: more globs. */
export interface RiskConfig {
  critical: readonly string[];
  medium: readonly string[];
}

/** The judgement of one head. */
export interface RiskVerdict {
  level: ChangeRisk;
  reasons: readonly RiskReason[];
  needsHuman: boolean;
  coverage: 'complete' | 'incomplete' | 'missing';
  files: readonly ChangedFile[];
  /** Documentation or tests only: `review.byRisk` may spare the reviewer (decision 6). */
  isTrivial: boolean;
}

/** From so many changed lines or files a change is at least medium. */
export const mediumLines = 500;
export const mediumFiles = 20;
/** From so many files nobody reads them all: at least medium, "coverage incomplete". */
export const incompleteFiles = 300;

/** Judges a change by rules alone; each rule can only raise (P5, R-38). A missing diff is critical. */
export function assessRules(facts: RiskFacts, config: RiskConfig = { critical: [], medium: [] }): RiskVerdict {
  if (facts.isDiffMissing) {
    const reason = makeReason(
      'diff_missing',
      'critical',
      true,
      [],
      'the diff could not be read, so nothing about it is known',
    );
    return { level: 'critical', reasons: [reason], needsHuman: true, coverage: 'missing', files: [], isTrivial: false };
  }
  const reasons = [
    ...pathReasons(facts.files),
    ...configuredReasons(facts.files, config),
    ...modeReasons(facts.files),
    ...testReasons(facts),
    ...contentReasons(facts),
    ...sizeReasons(facts),
  ];
  const level = reasons.reduce<ChangeRisk>((highest, reason) => higherRisk(highest, reason.level), 'low');
  const isIncomplete = facts.isTruncated || facts.files.length > incompleteFiles;
  return {
    level,
    reasons,
    needsHuman: reasons.some((reason) => reason.needsHuman),
    coverage: isIncomplete ? 'incomplete' : 'complete',
    files: facts.files.map((file) => ({ path: file.path, mustRead: mustRead(file) })),
    isTrivial:
      level === 'low' &&
      facts.files.every((file) => isAny(file.path, documentationGlobs) || isAny(file.path, testGlobs)),
  };
}

function pathsOf(file: FileFact): string[] {
  return file.oldPath === undefined ? [file.path] : [file.path, file.oldPath];
}

function isAny(path: string, globs: readonly string[]): boolean {
  return globs.some((glob) => matchesGlob(glob, path));
}

function pathReasons(files: readonly FileFact[]): RiskReason[] {
  return pathRules.flatMap((rule) => {
    const hits = files.filter((file) => pathsOf(file).some((path) => isAny(path, rule.globs)));
    return hits.length > 0
      ? [
          makeReason(
            rule.code,
            rule.level,
            rule.needsHuman,
            hits.map((file) => file.path),
            rule.message,
          ),
        ]
      : [];
  });
}

function configuredReasons(files: readonly FileFact[], config: RiskConfig): RiskReason[] {
  return (['critical', 'medium'] as const).flatMap((level) => {
    const hits = files.filter((file) => pathsOf(file).some((path) => isAny(path, config[level])));
    if (hits.length === 0) return [];
    return [
      makeReason(
        `configured_${level}`,
        level,
        level === 'critical',
        hits.map((file) => file.path),
        `matches risk.${level} of the configuration`,
      ),
    ];
  });
}

function modeReasons(files: readonly FileFact[]): RiskReason[] {
  const gitlinks = files.filter((file) => file.newMode === '160000' || file.oldMode === '160000');
  const links = files.filter((file) => file.newMode === '120000' && file.linkLeavesTree !== false);
  const executables = files.filter((file) => file.newMode === '100755' && file.oldMode !== '100755');
  const binaries = files.filter((file) => file.isBinary && file.status !== 'deleted');
  return [
    ...reasonIf(gitlinks, 'gitlink', 'critical', true, 'changes which commit of another repository is used'),
    ...reasonIf(links, 'symlink_leaves_tree', 'critical', true, 'holds a symbolic link that leaves the tree'),
    ...reasonIf(executables, 'executable', 'medium', false, 'makes a file executable'),
    ...reasonIf(binaries, 'binary', 'medium', false, 'holds a binary file that nobody can read in a diff'),
  ];
}

function testReasons(facts: RiskFacts): RiskReason[] {
  const deleted = facts.files.filter((file) => {
    if (file.status === 'deleted') return isAny(file.path, testGlobs);
    return (
      file.status === 'renamed' &&
      file.oldPath !== undefined &&
      isAny(file.oldPath, testGlobs) &&
      !isAny(file.path, testGlobs)
    );
  });
  return [
    ...reasonIf(deleted, 'test_deleted', 'medium', true, 'deletes a test'),
    ...reasonIf(facts.skippedTests, 'test_skipped', 'medium', true, 'skips a test'),
  ];
}

function contentReasons(facts: RiskFacts): RiskReason[] {
  const scripts = facts.changedScripts.map(({ path, name }) => `${path} (${name})`);
  return [
    ...reasonIf(
      scripts,
      'package_scripts',
      'medium',
      true,
      'changes scripts of a package.json, which people and checks run',
    ),
    ...reasonIf(facts.secrets, 'secret', 'critical', true, 'adds what looks like a secret'),
    ...(facts.hasForeignTrailer
      ? [
          makeReason(
            'landing_trailer',
            'critical',
            true,
            [],
            'a commit carries the trailer Chantier-Landing, which only landings may have',
          ),
        ]
      : []),
  ];
}

function sizeReasons(facts: RiskFacts): RiskReason[] {
  const lines = facts.files
    .filter((file) => !isAny(file.path, generatedGlobs))
    .reduce((sum, file) => sum + (file.added ?? 0) + (file.removed ?? 0), 0);
  const reasons: RiskReason[] = [];
  if (lines > mediumLines || facts.files.length > mediumFiles)
    reasons.push(makeReason('size', 'medium', false, [], `${facts.files.length} files and ${lines} lines are changed`));
  if (facts.isTruncated || facts.files.length > incompleteFiles)
    reasons.push(
      makeReason('coverage_incomplete', 'medium', false, [], 'coverage incomplete: more is changed than can be listed'),
    );
  return reasons;
}

function mustRead(file: FileFact): boolean {
  return file.status !== 'deleted' && !file.isBinary && !isAny(file.path, generatedGlobs);
}

function reasonIf(
  hits: readonly (FileFact | string)[],
  code: string,
  level: ChangeRisk,
  needsHuman: boolean,
  message: string,
): RiskReason[] {
  if (hits.length === 0) return [];
  return [
    makeReason(
      code,
      level,
      needsHuman,
      hits.map((hit) => (typeof hit === 'string' ? hit : hit.path)),
      message,
    ),
  ];
}

function makeReason(
  code: string,
  level: ChangeRisk,
  needsHuman: boolean,
  paths: readonly string[],
  message: string,
): RiskReason {
  return { code, level, needsHuman, paths: paths.slice(0, 20), message };
}
