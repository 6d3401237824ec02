import type { Db } from '../dispatch/db.ts';

/** Findings of earlier rounds as one text for the next reviewer; empty in the first round. */
export async function earlierFindings(db: Db, pullRequestId: string): Promise<string> {
  const reviews = await db
    .selectFrom('pr_review')
    .select(['round', 'reviewer', 'summary', 'findings'])
    .where('pull_request_id', '=', pullRequestId)
    .where('decision', '=', 'request_changes')
    .orderBy('created_at')
    .execute();
  return reviews
    .map((review) => {
      const findings = JSON.parse(review.findings) as {
        file?: string;
        line?: number;
        text?: string;
        scenario?: string;
      }[];
      const lines = findings.map((finding) =>
        `- ${finding.file ?? ''}${finding.line ? `:${finding.line}` : ''} ${finding.text ?? ''} ${finding.scenario ?? ''}`.trim(),
      );
      return [`Round ${review.round}, ${review.reviewer}: ${review.summary}`, ...lines].join('\n');
    })
    .join('\n\n');
}
