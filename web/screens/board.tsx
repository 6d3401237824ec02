import { useQuery } from '@tanstack/react-query';

import type { DecisionView, Page, StatusView, WhoamiView } from '../../src/wire/index.ts';
import { get, hasProof, logOut } from '../api.ts';
import { useLiveUpdates } from '../live.ts';
import { DecisionCard } from './decision-card.tsx';
import { SessionCard } from './session-card.tsx';
import { WatchedCard } from './watched-card.tsx';

/** Open decisions on the left (first on a phone), living sessions on the right. */
export function Board({ who, onEnd }: { who: WhoamiView; onEnd: () => void }) {
  const isLive = useLiveUpdates();
  const decisions = useQuery({
    queryKey: ['decisions'],
    queryFn: () => get<Page<DecisionView>>('/decisions?state=open'),
  });
  const status = useQuery({ queryKey: ['status'], queryFn: () => get<StatusView>('/status') });
  const mayDecide = who.principal === 'operator' && hasProof();
  const open = decisions.data?.items ?? [];
  const living = (status.data?.sessions ?? []).filter((session) => session.endedAt === null);
  return (
    <>
      <header className="top">
        <h1>Chantier</h1>
        <div className="facts">
          <span>{Math.max(status.data?.openDecisions ?? 0, open.length)} to decide</span>
          {status.data && (
            <>
              <span>
                {status.data.quota.active} of {status.data.quota.max} authors at work
              </span>
              <span>{status.data.readyTasks} tasks ready</span>
              <span>phase {status.data.phase}</span>
            </>
          )}
          <span>{isLive ? 'live' : 'connecting…'}</span>
        </div>
        <button className="end" onClick={() => void logOut().finally(onEnd)}>
          Log out
        </button>
      </header>
      {status.data && !status.data.sandbox.holds && (
        <p className="banner" role="status">
          <strong>No sandbox.</strong> {status.data.sandbox.message} The promise “no agent can decide” does not hold.
        </p>
      )}
      {status.data?.halted && (
        <p className="banner" role="status">
          <strong>Stopped.</strong> Nothing is started, landed or sent until an operator lets it go on.
        </p>
      )}
      {status.data && <Held status={status.data} />}
      {who.principal === 'operator' && !mayDecide && (
        <p className="banner" role="status">
          This tab can read only: log in again here to decide.
        </p>
      )}
      <main>
        <section aria-label="Decisions">
          <h2>Decisions</h2>
          {decisions.error && (
            <p className="bad" role="alert">
              {decisions.error.message}
            </p>
          )}
          {decisions.data && open.length === 0 && <p className="muted">Nothing waits for you.</p>}
          {open.map((decision) => (
            <DecisionCard key={decision.id} decision={decision} mayDecide={mayDecide} />
          ))}
          {decisions.data?.nextCursor && (
            <p className="muted">These are the oldest; the others come up when some of them are decided.</p>
          )}
        </section>
        <section aria-label="Sessions">
          <h2>Sessions</h2>
          {status.error && (
            <p className="bad" role="alert">
              {status.error.message}
            </p>
          )}
          {status.data && living.length === 0 && <p className="muted">No agent is running.</p>}
          {(status.data?.retries ?? []).map((retry) => (
            <p key={retry.sessionId} className="bad" role="status">
              {retry.workKey}: {retry.state === 'START_FAILED' ? 'start failed' : 'crashed'} {retry.attempt} of{' '}
              {retry.maxAttempts}: {retry.reason}
              {retry.failure?.exitCode != null && `, exit ${retry.failure.exitCode}`}. It is tried again by itself.
            </p>
          ))}
          {living.map((session) => (
            <SessionCard key={session.id} session={session} />
          ))}
          {(status.data?.watched ?? []).map((session) => (
            <WatchedCard key={session.id} session={session} />
          ))}
        </section>
      </main>
    </>
  );
}

/** Why ready work does not start although nobody stopped it. */
function Held({ status: { machine, disk } }: { status: StatusView }) {
  const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
  const reasons = [
    ...(machine.isHeld ? [`${machine.reason ?? ''}. It goes on when ${machine.goesOn ?? ''}.`] : []),
    ...(disk.isShort
      ? [`${gib(disk.freeBytes)} free at ${disk.path}, less than disk.minFree (${gib(disk.minFreeBytes)}).`]
      : []),
  ];
  if (reasons.length === 0) return null;
  return (
    <p className="banner" role="status">
      <strong>Nothing new starts.</strong> {reasons.join(' ')} Ready tasks wait and go on by themselves.
    </p>
  );
}
