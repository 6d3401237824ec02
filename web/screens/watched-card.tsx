import type { WatchedSessionView } from '../../src/wire/index.ts';
import { Ago } from '../parts/time.tsx';

/** One session that somebody started by hand: where it is and what it waits for. */
export function WatchedCard({ session }: { session: WatchedSessionView }) {
  const away = session.waitsFor.filter((one) => one.decisionId === null);
  return (
    <article className="card">
      <h3>{session.folder}</h3>
      <p>
        <span className="tag">{session.state}</span>
        <span className="tag">{session.agent}</span>
        <span className="tag">started by hand</span>
      </p>
      {away.length > 0 && <p className="text">Waits in its own terminal: {away.map(({ tool }) => tool).join(', ')}</p>}
      <p className="muted">
        seen <Ago at={session.lastSeenAt} /> ago
      </p>
    </article>
  );
}
