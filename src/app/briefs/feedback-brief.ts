import { dataBlock } from './data-block.ts';

/** One thing that must change before the work can land. */
export interface FeedbackFinding {
  file?: string;
  line?: number;
  text: string;
  scenario?: string;
  blocking: boolean;
}

/** What goes back to an author: a reviewer's verdict, red checks, a conflict with the base, or a human's words (review decision 2). */
export interface Feedback {
  source: 'review' | 'checks' | 'conflict' | 'human';
  /** Number of the pull request. */
  number: number;
  round: number;
  maxRounds: number;
  head: string;
  summary: string;
  findings: readonly FeedbackFinding[];
  /** Tail of a failing check's log. */
  log?: string;
}

const openings: Record<Feedback['source'], string> = {
  review: 'The reviewer asks for changes.',
  checks: 'A check failed on your change.',
  conflict: 'Your change conflicts with the base branch.',
  human: 'A human reviewer asks for changes.',
};

/** The prompt that brings feedback to an author, in the same conversation or a resumed one. */
export function feedbackBrief(feedback: Feedback): string {
  const findings = feedback.findings.map(describeFinding).join('\n');
  return [
    `${openings[feedback.source]} Pull request ${feedback.number}, head ${feedback.head.slice(0, 12)}, round ${feedback.round} of ${feedback.maxRounds}.`,
    dataBlock('summary', feedback.summary),
    ...(findings === '' ? [] : [dataBlock('findings', findings)]),
    ...(feedback.log === undefined ? [] : [dataBlock('end of the log', feedback.log)]),
    'Judge each finding yourself: mend what is right, say in your summary why what you leave is wrong. Commit, then call `report_done` again.',
  ].join('\n\n');
}

function describeFinding(finding: FeedbackFinding, index: number): string {
  const place = finding.file ? ` ${finding.file}${finding.line ? `:${finding.line}` : ''}` : '';
  const weight = finding.blocking ? 'must change' : 'note';
  return `${index + 1}. [${weight}]${place} ${finding.text}${finding.scenario ? `\n   fails when: ${finding.scenario}` : ''}`;
}
