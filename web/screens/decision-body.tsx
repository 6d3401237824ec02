import { useQuery } from '@tanstack/react-query';
import { Fragment, useEffect } from 'react';

import { decisionFacts, type DecisionView, type DiffView, type PullRequestView } from '../../src/wire/index.ts';
import { get } from '../api.ts';
import { Diff } from '../parts/diff.tsx';

type Detail = Record<string, unknown>;

/** What of a change a human was shown. */
export interface Seen {
  head: string;
  isWhole: boolean;
}

/** Whether a decision is about a change, so that a yes needs that it was shown. */
export function isAboutChange(decision: DecisionView): boolean {
  return (decision.kind === 'landing' || decision.kind === 'human_review') && decision.subject.kind !== 'job';
}

/** What a human needs to see before deciding: the question, the whole call, the change with its checks, the commands. */
export function DecisionBody({ decision, onSeen }: { decision: DecisionView; onSeen: (seen: Seen) => void }) {
  const detail = (decision.detail ?? {}) as Detail;
  if (decision.kind === 'escalation_answer') return <p className="text">{String(detail.text ?? decision.title)}</p>;
  if (decision.kind === 'call_approval') return <Call detail={detail} />;
  if (isAboutChange(decision)) {
    return (
      <Change
        name={String(detail.pullRequestId ?? detail.pull_request_id ?? decision.subject.id)}
        detail={detail}
        onSeen={onSeen}
      />
    );
  }
  return <Facts detail={detail} />;
}

/** Why a call is asked about, in words. */
const reasons: Readonly<Record<string, string>> = {
  outside_effect: 'It acts outside of the work folder and the sandbox.',
  outside_path: 'It touches a path outside of the work folder.',
  network: 'It reaches a host that is not on the allow-list.',
  not_understood: 'The command could not be taken apart, so it is asked about whole.',
  watched: 'It asks in a session that you started by hand; that agent runs as you, outside of any sandbox.',
  no_input: 'The agent does not say what it will run.',
};

interface CallCapability {
  id: string;
  name: string;
  tier: string;
}

/** A call that waits: the preview is whole and neutralised by the server; what cannot be shown whole cannot be approved. */
function Call({ detail }: { detail: Detail }) {
  const preview = (detail.preview ?? {}) as Detail;
  const capabilities = (detail.capabilities ?? []) as CallCapability[];
  const reason = String(detail.reason ?? '');
  return (
    <>
      <pre tabIndex={0} aria-label="call">
        {String(preview.text ?? '')}
      </pre>
      {detail.isApprovable === false && (
        <p className="warning">It is too long to be shown whole, so it can only be refused.</p>
      )}
      <dl className="facts">
        <dt>why asked</dt>
        <dd>{reasons[reason] ?? reason.replaceAll('_', ' ')}</dd>
        <dt>what it is</dt>
        <dd>{capabilities.map((one) => `${one.name} (${one.tier}, ${one.id})`).join(' · ') || 'unknown'}</dd>
        <dt>a yes means</dt>
        <dd>exactly this call, once, within 15 minutes</dd>
        <dt>sandbox</dt>
        <dd>{detail.sandboxHolds === true ? 'holds' : 'does not hold'}</dd>
        <dt>digest</dt>
        <dd>
          <code>{String(preview.hash ?? '').slice(0, 16)}</code>, {String(preview.length ?? '?')} characters
          {Number(preview.maskedCount ?? 0) > 0 && `, ${String(preview.maskedCount)} secrets masked`}
        </dd>
      </dl>
    </>
  );
}

function Change({ name, detail, onSeen }: { name: string; detail: Detail; onSeen: (seen: Seen) => void }) {
  const change = useQuery({
    queryKey: ['pull-request', name],
    queryFn: () => get<PullRequestView>(`/pull-requests/${name}`),
  });
  const view = change.data;
  const diff = useQuery({
    queryKey: ['diff', name, view?.baseCommit, view?.headCommit],
    queryFn: () => get<DiffView>(`/pull-requests/${name}/diff`),
    enabled: view !== undefined,
    staleTime: Infinity,
  });
  const head = diff.data?.headCommit;
  const isWhole = diff.data?.isTruncated === false;
  useEffect(() => {
    if (head) onSeen({ head, isWhole });
  }, [head, isWhole, onSeen]);
  return (
    <>
      {change.error && <p className="bad">{change.error.message}</p>}
      {view && (
        <dl className="facts">
          <dt>change</dt>
          <dd>
            #{view.number} by {view.author}, <code>{view.branch}</code> onto <code>{view.base}</code>
          </dd>
          <dt>risk</dt>
          <dd>{[view.risk ?? 'not assessed', ...view.riskReasons].join(' · ')}</dd>
          <dt>review</dt>
          <dd>
            {view.verdicts.length === 0
              ? 'none'
              : view.verdicts
                  .map((verdict) => `${verdict.reviewer} (${verdict.family}): ${verdict.verdict.replace('_', ' ')}`)
                  .join(' · ')}
          </dd>
          <dt>checks</dt>
          <dd>
            {view.checks.length === 0
              ? 'none'
              : view.checks.map((check) => `${check.name}: ${check.status}`).join(' · ')}
          </dd>
        </dl>
      )}
      {effectOf(detail) && <p className="text">{effectOf(detail)}</p>}
      {diff.error && <p className="bad">{diff.error.message}</p>}
      {diff.data && <Diff diff={diff.data} />}
    </>
  );
}

/** The exact git effect of a landing, in one sentence. */
function effectOf(detail: Detail): string | undefined {
  const text = (detail.effect as { text?: unknown } | null | undefined)?.text;
  return typeof text === 'string' ? text : undefined;
}

/** The rest of a decision's detail, in words. */
function Facts({ detail }: { detail: Detail }) {
  return (
    <dl className="facts">
      {decisionFacts(detail).map(({ name, text }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{text.includes('\n') ? <pre tabIndex={0}>{text}</pre> : text}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
