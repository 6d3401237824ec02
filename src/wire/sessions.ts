import { z } from 'zod';

import { anyId, longText, pageQuery, shortText, timestamp } from './fields.ts';
import { watchedSessionView } from './watched.ts';
import { channelView } from './notify.ts';
import { dayView, estimateView, spendingView } from './spending.ts';
import { agentRole } from './work.ts';

/** The eight states (S-9). */
export const sessionState = z.enum([
  'STARTING',
  'RUNNING',
  'ESCALATED',
  'PAUSED',
  'DONE',
  'ABORTED',
  'CRASHED',
  'START_FAILED',
]);

export const escalationView = z.object({
  id: anyId,
  sessionId: anyId,
  workKey: z.string(),
  text: z.string(),
  status: z.enum(['OPEN', 'ANSWERED', 'CLOSED']),
  /** The decision that asks for its answer. */
  decisionId: anyId.nullable(),
  createdAt: timestamp,
  answeredAt: timestamp.nullable(),
  answeredBy: z.string().nullable(),
  /** Whether the answer has reached the agent. */
  delivery: z.enum(['pending', 'delivered']).nullable(),
  closeReason: z.string().nullable(),
  /** In the answer to a command: what to know besides, such as an outage of the broker (S-54). */
  notice: z.string().optional(),
});
export type EscalationView = z.infer<typeof escalationView>;

/** Whether a fact was told by the protocol or concluded from outside (decision 12 of the sessions part). */
export const factSource = z.enum(['asserted', 'inferred']);

/** How a session failed. `errors` comes from the agent and is untrusted; everything invisible in it is written out. */
export const failureView = z.object({
  /** Null: none was written down (killed with its wrapper, never started, the machine went down, a set-up that failed). */
  exitCode: z.int().nullable(),
  /** The signal that a code above 128 stands for. */
  signal: z.string().nullable(),
  /** The end of its error output, or of the log of the set-up. */
  errors: z.string(),
});
export type FailureView = z.infer<typeof failureView>;

/** Work whose last session failed and that is tried again by itself. */
export const retryView = z.object({
  taskId: anyId,
  sessionId: anyId,
  workKey: z.string(),
  agent: z.string(),
  state: z.enum(['START_FAILED', 'CRASHED']),
  reason: z.string().nullable(),
  /** Which try has failed, of how many before a human is asked. */
  attempt: z.int(),
  maxAttempts: z.int(),
  /** Not before then; afterwards as soon as there is room. */
  nextTryAt: timestamp,
  failure: failureView.nullable(),
});
export type RetryView = z.infer<typeof retryView>;

export const sessionView = z.object({
  id: anyId,
  generation: z.int(),
  workKey: z.string(),
  project: z.string(),
  role: agentRole,
  agent: z.string(),
  state: sessionState,
  /** The same as an MCP task's status and an A2A task's state; one-way, paused and running look alike there. */
  outward: z.object({ mcp: z.string(), a2a: z.string() }),
  flags: z.object({
    waitingApproval: z.boolean(),
    unresponsive: z.boolean(),
    stalled: z.boolean(),
    takenOver: z.boolean(),
    limitedUntil: timestamp.nullable(),
  }),
  /** Who has the wheel, since when; null while the agent works. */
  takeover: z.object({ by: z.string(), since: timestamp }).nullable(),
  /** Broker address; `pending-<work key>` until the peer was seen (S-27). */
  peerId: z.string(),
  lastSeenAt: timestamp.nullable(),
  missedPolls: z.int(),
  taskId: anyId.nullable(),
  pullRequest: z.int().nullable(),
  openEscalations: z.array(escalationView),
  /** What the agent says it is doing. */
  summary: z.string().nullable(),
  /** Process id of the agent, while it lives. */
  pid: z.int().nullable(),
  sandbox: z.string(),
  sources: z.object({ state: factSource, lastSeenAt: factSource }),
  endReason: z.string().nullable(),
  /** Of one that failed, as long as its files are here. */
  failure: failureView.nullable(),
  spending: spendingView,
  /** What it was expected to use before it began. */
  estimate: estimateView.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  endedAt: timestamp.nullable(),
  /** In the answer to a command: what to know besides, such as an outage of the broker (S-54). */
  notice: z.string().optional(),
});
export type SessionView = z.infer<typeof sessionView>;

/** What every surface says about the wall. */
export const sandboxView = z.object({
  driver: z.string(),
  /** Whether "no agent can decide" is true on this instance. */
  holds: z.boolean(),
  /** One sentence for people; names cause and cure when it does not hold. */
  message: z.string(),
});
export type SandboxView = z.infer<typeof sandboxView>;

/** The one status function for CLI, console, MCP and phone. */
export const statusView = z.object({
  version: z.string(),
  sandbox: sandboxView,
  phase: z.int(),
  broker: z.enum(['UP', 'DEGRADED', 'DOWN']),
  /** True after `stop --all`: nothing is dispatched, landed or sent. */
  halted: z.boolean(),
  quota: z.object({ active: z.int(), max: z.int(), reviewers: z.int(), maxReviewers: z.int() }),
  /** Set-ups, builds and checks that run at once, and whether the machine has room for more (design 6). */
  machine: z.object({
    slots: z.object({ inUse: z.int(), max: z.int(), waiting: z.int() }),
    /** True while memory or I/O pressure stops dispatch. */
    isHeld: z.boolean(),
    reason: z.string().nullable(),
    /** When it goes on. */
    goesOn: z.string().nullable(),
    memoryPercent: z.number().nullable(),
    ioPercent: z.number().nullable(),
    freeBytes: z.number(),
  }),
  /** What the day has cost, and its cap. */
  today: dayView,
  openDecisions: z.int(),
  readyTasks: z.int(),
  sessions: z.array(sessionView),
  /** What failed and is tried again by itself. */
  retries: z.array(retryView),
  /** Free space where it is shortest. With less than the setting `disk.minFree` nothing is started. */
  disk: z.object({
    path: z.string(),
    freeBytes: z.number(),
    minFreeBytes: z.number(),
    isShort: z.boolean(),
    /** While it is short: where the space goes, the largest first, and what may be done. `bytes` null = took too long. */
    places: z.array(z.object({ what: z.string(), path: z.string(), bytes: z.number().nullable(), cure: z.string() })),
  }),
  /** Sessions that people started by hand, where `chantier watch` was installed. */
  watched: z.array(watchedSessionView),
  /** The ways to the human, where some are set up. */
  channels: z.array(channelView),
  /** What the wall refused, counted by host. */
  denied: z.array(z.object({ host: z.string(), count: z.int() })),
  /** Provider accounts that take nothing now; `until` null: a human has to settle it. */
  limits: z.array(
    z.object({
      account: z.string(),
      reason: z.enum(['usage', 'rate', 'billing', 'auth']),
      until: timestamp.nullable(),
    }),
  ),
});
export type StatusView = z.infer<typeof statusView>;

/** Work key, or id of a session: what the seven commands name. Judged by the supervisor, in its order of guards. */
export const sessionName = z.string().max(400);

/** Left empty rather than refused here: the supervisor judges the form after the quota and the key (S-17). */
export const startRequest = z.object({
  workKey: z.string().max(400).default(''),
  project: z.string().max(400).default(''),
  agent: z.string().max(128).optional(),
});
export type StartRequest = z.infer<typeof startRequest>;

export const answerRequest = z.object({ text: z.string().max(20_000) });
/** Several answers in one visit, oldest question first; `question` names the one that an answer is meant for. */
export const answerBatch = z.object({
  answers: z
    .array(z.object({ text: z.string().max(20_000), question: anyId.optional() }))
    .min(1)
    .max(100),
});
export type AnswerBatch = z.infer<typeof answerBatch>;

/** One result for each answer, in order. After the first that is refused the rest is `not-tried`: it would answer another question. */
export const answeredBatchView = z.object({
  results: z.array(
    z.object({
      outcome: z.enum(['answered', 'refused', 'not-tried']),
      escalation: escalationView.nullable(),
      code: z.string().nullable(),
      message: z.string(),
    }),
  ),
  answered: z.int(),
  /** Questions of the session that are still open. */
  open: z.int(),
});
export type AnsweredBatchView = z.infer<typeof answeredBatchView>;

export const reasonRequest = z.object({ reason: z.string().max(4000).optional() });

/** `now` interrupts the turn; else the text waits for its end. */
export const tellRequest = z.object({ text: longText, now: z.boolean().default(false) });
export const toldView = z.object({
  sessionId: anyId,
  delivery: z.enum(['delivered', 'unconfirmed', 'not-delivered']),
  message: z.string(),
});
export type ToldView = z.infer<typeof toldView>;

/** What `stop --all` did. */
export const stoppedAllView = z.object({
  stopped: z.array(z.object({ sessionId: anyId, workKey: z.string(), savedRefs: z.array(z.string()) })),
  durationMs: z.number(),
});
export type StoppedAllView = z.infer<typeof stoppedAllView>;

export const sessionQuery = pageQuery.extend({ state: sessionState.optional(), living: z.stringbool().optional() });
export const escalationQuery = z.object({ session: sessionName.optional() });

/** Where a page of a transcript begins: at `after`, else `tail` lines before the end, else where `since` was; else at the beginning. */
export const transcriptQuery = z.object({
  /** Default: the newest. */
  generation: z.coerce.number().int().positive().optional(),
  /** Byte offset in the journal to go on from: `next` of the page before. */
  after: z.coerce.number().int().min(0).optional(),
  tail: z.coerce.number().int().min(1).max(2000).optional(),
  since: timestamp.optional(),
  /** Lines of the journal that a page reads at most. */
  limit: z.coerce.number().int().min(1).max(2000).default(200),
  /** The journal's own lines instead of what they tell. */
  raw: z.stringbool().default(false),
  /** How long to wait where there is nothing yet, in ms. */
  waitMs: z.coerce.number().int().min(0).max(20_000).default(0),
});
export type TranscriptQuery = z.infer<typeof transcriptQuery>;

/** What an entry of a transcript tells. */
export const transcriptKinds = [
  'agent',
  'thought',
  'user',
  'tool',
  'result',
  'plan',
  'question',
  'permission',
  'turn',
  'notice',
  'output',
] as const;

export const transcriptEntry = z.object({
  /** Of the line it comes from. */
  offset: z.int(),
  kind: z.enum([...transcriptKinds, 'raw']),
  text: z.string(),
  /** A piece that goes on where the entry of the same kind before it ended. */
  continues: z.boolean(),
});
export const transcriptPage = z.object({
  sessionId: anyId,
  generation: z.int(),
  /** The newest generation of the session; one before it gets nothing more. */
  newestGeneration: z.int(),
  entries: z.array(transcriptEntry),
  next: z.int(),
  /** Whether more can be read at once. */
  hasMore: z.boolean(),
  /** Whether this generation has ended and was read to its end. */
  ended: z.boolean(),
  /** Whether no further generation can follow. */
  sessionEnded: z.boolean(),
  /** How this generation failed, when it was read to its end and did. */
  failure: failureView.nullable(),
  /** When its work is tried again by itself. */
  retry: retryView.nullable(),
});
export type TranscriptPage = z.infer<typeof transcriptPage>;

export const terminalQuery = transcriptQuery.pick({ generation: true, after: true, waitMs: true });
export type TerminalQuery = z.infer<typeof terminalQuery>;

const terminalSize = z.object({ cols: z.int().min(2).max(300), rows: z.int().min(2).max(100) });

/** What a program wrote at its terminal, from a moment on at which the whole screen is known. Untrusted: for a screen, never for a terminal. */
export const terminalPage = transcriptPage.omit({ entries: true, failure: true, retry: true }).extend({
  frames: z.array(
    z.discriminatedUnion('pty', [
      terminalSize.extend({ pty: z.literal('started') }),
      z.object({ pty: z.literal('out'), text: z.string() }),
      terminalSize.extend({ pty: z.literal('screen'), text: z.string() }),
      terminalSize.extend({ pty: z.literal('size') }),
      z.object({ pty: z.literal('input'), id: z.string() }),
      z.object({ pty: z.literal('exit'), code: z.int(), signal: z.int() }),
    ]),
  ),
});
export type TerminalPage = z.infer<typeof terminalPage>;

/** Taking the keyboard makes the program's terminal as large as that of who types. */
export const keyboardRequest = terminalSize;
export type KeyboardRequest = z.infer<typeof keyboardRequest>;
export const keyboardView = z.object({ sessionId: anyId, generation: z.int(), keyboard: anyId });
export type KeyboardView = z.infer<typeof keyboardView>;

/** Keys as a terminal sends them, or a new size; only whoever took the keyboard last may. */
export const keysRequest = z.object({
  keyboard: anyId,
  text: z.string().max(65_536).optional(),
  size: terminalSize.optional(),
});
export type KeysRequest = z.infer<typeof keysRequest>;
export const keysView = z.object({ sent: z.boolean() });
export type KeysView = z.infer<typeof keysView>;

/** Where a session works. */
export const sessionFolderView = z.object({
  sessionId: anyId,
  workKey: z.string(),
  /** Absolute, on the machine of the server. */
  path: z.string(),
  branch: z.string().nullable(),
});
export type SessionFolderView = z.infer<typeof sessionFolderView>;

export const haltRequest = z.object({ reason: shortText.optional() });
