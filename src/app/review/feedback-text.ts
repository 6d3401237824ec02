import type { Feedback, PullRequest } from '../../review/index.ts';
import { feedbackBrief, type FeedbackFinding } from '../briefs/feedback-brief.ts';

/** What a queued feedback holds, whatever its source (review decision 2). */
export interface FeedbackContent {
  summary?: string;
  findings?: readonly (Partial<FeedbackFinding> & { isBlocking?: boolean; blocks?: boolean })[];
  log?: string;
}

const sources = { verdict: 'review', checks: 'checks', conflict: 'conflict', human: 'human' } as const;

/** The prompt that brings feedback to its author. */
export function feedbackTextOf(pullRequest: PullRequest, feedback: Feedback): string {
  const content = (feedback.content ?? {}) as unknown as FeedbackContent;
  return feedbackBrief({
    source: sources[feedback.source],
    number: pullRequest.number,
    round: Math.max(1, pullRequest.rounds),
    maxRounds: pullRequest.maxRounds,
    head: feedback.headSha,
    summary: content.summary ?? '',
    findings: (content.findings ?? []).map((finding) => ({
      text: finding.text ?? '',
      blocking: finding.blocking ?? finding.isBlocking ?? finding.blocks ?? true,
      ...(finding.file ? { file: finding.file } : {}),
      ...(finding.line ? { line: finding.line } : {}),
      ...(finding.scenario ? { scenario: finding.scenario } : {}),
    })),
    ...(content.log === undefined ? {} : { log: content.log }),
  });
}
