import { estimateText, type SessionView, spendingText } from '../../src/wire/index.ts';
import { Ago } from '../parts/time.tsx';

/** One living session: what it works on, its state and what it says of itself. */
export function SessionCard({ session }: { session: SessionView }) {
  const flags = [
    session.flags.waitingApproval && 'waits for approval',
    session.flags.unresponsive && 'does not answer',
    session.flags.stalled && 'stalled',
    session.flags.limitedUntil && `limited until ${session.flags.limitedUntil}`,
  ].filter((flag) => typeof flag === 'string');
  return (
    <article className="card">
      <h3>{session.workKey}</h3>
      <p>
        <span className={`tag state-${session.state}`}>{session.state}</span>
        <span className="tag">{session.role}</span>
        <span className="tag">{session.agent}</span>
        {flags.map((flag) => (
          <span key={flag} className="tag warn">
            {flag}
          </span>
        ))}
      </p>
      {session.summary && <p className="text">{session.summary}</p>}
      <p className="muted">
        {spendingText(session.spending)}
        {session.estimate && ` · ${estimateText(session.estimate)}`}
      </p>
      <p className="muted">
        started <Ago at={session.createdAt} /> ago
        {session.lastSeenAt && (
          <>
            , seen <Ago at={session.lastSeenAt} /> ago
          </>
        )}
      </p>
    </article>
  );
}
