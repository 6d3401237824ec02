import { forLog, idempotencyKeyPattern, idFault, ok, refuse, type Result, textFault } from '../kernel/index.ts';
import { type SessionState, sessionStates } from './states.ts';

/** Bounds of texts (README 4 of the specification). */
export const textBounds = { answer: 4000, escalation: 4000, reason: 500, summary: 500, prompt: 100_000 } as const;

/** Messages that come in from agents (S-43). */
export const incomingTypes = ['STATUS_UPDATE', 'ESCALADE', 'GATE_RESULT', 'WORKFLOW_DONE'] as const;
/** Messages that go out to agents (S-43, README 2.3); `TEXT` is a peer's message. */
export const outgoingTypes = ['PO_RESPONSE', 'PAUSE', 'RESUME', 'STOP', 'DECISION', 'TEXT'] as const;

export type IncomingType = (typeof incomingTypes)[number];
export type OutgoingType = (typeof outgoingTypes)[number];

/** An author's `<project>/<task>`, a reviewer's `pr-<n>/r<round>`, QA's `qa-<job>/r<round>` (design section 7). */
const ownWorkKey =
  /^(?:[a-z0-9][a-z0-9-]{2,62}[a-z0-9]\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}|pr-[A-Za-z0-9-]{1,64}\/r[0-9]{1,3}|qa-[A-Za-z0-9-]{1,64}\/r[0-9]{1,3})$/;

const timestampPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
const escalationIdPattern = /^[a-z0-9-]{1,64}$/;

/** One validator for each field (S-57, S7.1): the value as used (texts in NFC), or a refusal that names field and fault. */
export const fields = {
  /** Ours, or one of a tracker: `PD-9999` stands for `PD-` and 1 to 4 digits (S-59, S-73). */
  workKey: (value: unknown, trackers = 'PD-9999'): Result<string> =>
    check('work_key', value, (text) =>
      ownWorkKey.test(text) || isTrackerKey(text, trackers)
        ? undefined
        : `is not a work key, for example ${trackers.split(',')[0]?.replace(/9+$/, '42')}`,
    ),
  projectCode: (value: unknown, known: (code: string) => boolean): Result<string> =>
    check('project_code', value, (text) => (known(text) ? undefined : 'is not a known project')),
  messageType: (value: unknown): Result<IncomingType | OutgoingType> =>
    check('message_type', value, (text) =>
      ([...incomingTypes, ...outgoingTypes] as string[]).includes(text) ? undefined : 'is not a known message type',
    ) as Result<IncomingType | OutgoingType>,
  peerId: (value: unknown): Result<string> => check('peer_id', value, (text) => idFault(text, 128)),
  timestamp: (value: unknown): Result<string> =>
    check('timestamp', value, (text) =>
      isRealInstant(text) ? undefined : 'is not an RFC 3339 time with suffix Z, for example 2026-01-31T12:00:00Z',
    ),
  escalationText: (value: unknown): Result<string> =>
    check('escalation_text', value, (text) => textFault(text, { min: 1, max: textBounds.escalation })),
  summaryText: (value: unknown): Result<string> =>
    check('summary_text', value, (text) => textFault(text, { max: textBounds.summary })),
  idempotencyKey: (value: unknown): Result<string> =>
    check('idempotency_key', value, (text) =>
      idempotencyKeyPattern.test(text) ? undefined : 'is missing or malformed: use 1 to 128 of A–Z a–z 0–9 . _ : -',
    ),
  escalationId: (value: unknown): Result<string> =>
    check('escalation_id', value, (text) => (escalationIdPattern.test(text) ? undefined : 'is not an escalation id')),
  answerText: (value: unknown): Result<string> =>
    check('answer_text', value, (text) => textFault(text, { min: 1, max: textBounds.answer })),
  reason: (value: unknown): Result<string> =>
    check('reason', value, (text) => textFault(text, { max: textBounds.reason })),
  state: (value: unknown): Result<SessionState> =>
    check('state', value, (text) =>
      (sessionStates as string[]).includes(text) ? undefined : 'is not a state',
    ) as Result<SessionState>,
  promptText: (value: unknown): Result<string> =>
    check('prompt_text', value, (text) => textFault(text, { min: 1, max: textBounds.prompt })),
} as const;

/** Deterministic and without effect; the value itself appears escaped and cut, texts do not appear at all. */
function check(field: string, value: unknown, faultOf: (text: string) => string | undefined): Result<string> {
  if (typeof value !== 'string') return invalid(field, 'is missing or not a text');
  const text = value.normalize('NFC');
  const fault = faultOf(text);
  if (fault === undefined) return ok(text);
  const shown = field.endsWith('_text') || field === 'reason' ? '' : ` (${forLog(value, 80)})`;
  return invalid(field, `${fault}${shown}`);
}

function invalid(field: string, fault: string): Result<never> {
  return refuse('invalid', `${field}_invalid`, `Rejected: ${field} ${fault}.`, { field });
}

function isTrackerKey(text: string, trackers: string): boolean {
  const [, prefix, digits] = /^([A-Z][A-Z0-9]*)-([0-9]+)$/.exec(text) ?? [];
  return trackers.split(',').some((form) => {
    const [known, nines] = form.split('-');
    return known === prefix && digits !== undefined && digits.length <= (nines?.length ?? 0);
  });
}

function isRealInstant(text: string): boolean {
  if (!timestampPattern.test(text)) return false;
  const at = Date.parse(text);
  return Number.isFinite(at) && new Date(at).toISOString().slice(0, 10) === text.slice(0, 10);
}
