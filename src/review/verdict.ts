import type { Json, VerdictId } from '../kernel/index.ts';
import type { ChangedFile } from './pull-request.ts';
import type { VerdictRow } from './rows.ts';

/** What a reviewer found. It blocks only with file, line and a failure scenario (decision 6). */
export interface NewFinding {
  file?: string | undefined;
  line?: number | undefined;
  text: string;
  /** How it fails: input, steps, wrong result. */
  scenario?: string | undefined;
}

export interface Finding {
  file: string | null;
  line: number | null;
  text: string;
  scenario: string | null;
  isBlocking: boolean;
  /** Why it is only a note, where it names a place: it lies outside of the change. */
  isOutside: boolean;
}

/** A stored verdict; never changed. */
export interface Verdict {
  id: VerdictId;
  pullRequestId: string;
  claimId: string | null;
  kind: 'agent' | 'human';
  reviewer: string;
  family: string;
  sessionId: string | null;
  generation: number | null;
  headSha: string;
  baseRef: string;
  round: number;
  decision: VerdictRow['decision'];
  summary: string;
  findings: readonly Finding[];
  /** Files that were read. */
  coverage: readonly string[];
  isAdvisory: boolean;
  /** `filed` = kept without effect. */
  effect: VerdictRow['effect'];
  effectReason: string;
  createdAt: number;
}

export function verdictOf(row: VerdictRow): Verdict {
  return {
    id: row.id as VerdictId,
    pullRequestId: row.pull_request_id,
    claimId: row.claim_id,
    kind: row.kind,
    reviewer: row.reviewer,
    family: row.family,
    sessionId: row.session_id,
    generation: row.generation,
    headSha: row.head_sha,
    baseRef: row.base_ref,
    round: row.round,
    decision: row.decision,
    summary: row.summary,
    findings: JSON.parse(row.findings) as Finding[],
    coverage: JSON.parse(row.coverage) as string[],
    isAdvisory: row.is_advisory === 1,
    effect: row.effect,
    effectReason: row.effect_reason,
    createdAt: row.created_at,
  };
}

/**
 * Sorts findings into those that block and notes. One without file, line or scenario is a note, and so is one in a file that
 * the change does not touch: that is new work (P3 `forward`). `files` empty = not known, then nothing lies outside.
 */
export function judgeFindings(findings: readonly NewFinding[], files: readonly ChangedFile[]): Finding[] {
  return findings.map((finding) => {
    const file = finding.file?.replace(/^\.\//, '').trim() ?? '';
    const isPlaced =
      file !== '' &&
      Number.isInteger(finding.line) &&
      (finding.line ?? 0) >= 1 &&
      (finding.scenario?.trim() ?? '') !== '';
    const isOutside = files.length > 0 && file !== '' && !files.some((changed) => changed.path === file);
    return {
      file: file === '' ? null : file,
      line: finding.line ?? null,
      text: finding.text,
      scenario: finding.scenario ?? null,
      isBlocking: isPlaced && !isOutside,
      isOutside,
    };
  });
}

/** Files that a review has to read and that are not among `read` (P5 "large diffs"). */
export function unreadFiles(files: readonly ChangedFile[], read: readonly string[]): string[] {
  const known = new Set(read.map((path) => path.replace(/^\.\//, '').trim()));
  return files.filter((file) => file.mustRead && !known.has(file.path)).map((file) => file.path);
}

/** Findings as they go to the author. */
export function feedbackContent(verdict: Pick<Verdict, 'id' | 'reviewer' | 'summary' | 'findings'>): Json {
  return {
    verdictId: verdict.id,
    reviewer: verdict.reviewer,
    summary: verdict.summary,
    findings: verdict.findings.map(({ file, line, text, scenario, isBlocking }) => ({
      file,
      line,
      text,
      scenario,
      isBlocking,
    })),
  };
}
