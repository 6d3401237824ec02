import type { Setting, SettingKind } from './setting.ts';

const integer = (min: number, max: number): SettingKind => ({ type: 'integer', min, max });
const seconds = (min: number, max: number): SettingKind => ({ type: 'duration', minMs: min * 1000, maxMs: max * 1000 });
const text = (pattern: RegExp, form: string): SettingKind => ({ type: 'text', pattern, form });
const amount = text(
  /^$|^(?:\d{1,12}(?:\.\d{1,3})?[kM]?|\$\d{1,6}(?:\.\d{1,6})?|\d{1,6}(?:\.\d{1,6})? ?(?:€|[A-Z]{3}))(?:, ?(?:\d{1,12}(?:\.\d{1,3})?[kM]?|\$\d{1,6}(?:\.\d{1,6})?|\d{1,6}(?:\.\d{1,6})? ?(?:€|[A-Z]{3})))?$/,
  'tokens (500k, 2M), money ($5, 5.50EUR), or both with a comma between',
);
const path = text(/^$|^\/.{0,4000}$/, 'empty or an absolute path');

/**
 * Every setting of the instance. None of them can come from a repository's `chantier.yml`: sandbox, phase, limits and users
 * belong to the instance (design section 4). Strongest first: environment, what an operator set, default.
 */
export const settings = {
  port: {
    env: 'CHANTIER_PORT',
    default: 4747,
    kind: integer(0, 65_535),
    help: 'TCP port of console and API on 127.0.0.1; 0 takes a free one.',
    change: 'restart-only',
  },
  autostart: {
    env: 'CHANTIER_AUTOSTART',
    default: true,
    kind: { type: 'flag' },
    help: 'Whether a command that needs the server starts it when none runs.',
    change: 'operator',
  },
  'log.level': {
    env: 'CHANTIER_LOG_LEVEL',
    default: 'info',
    kind: { type: 'choice', values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] },
    help: 'How much the server writes to its log.',
    change: 'operator',
  },
  'log.maxSize': {
    env: null,
    default: 16 * 1024 * 1024,
    kind: { type: 'size', minBytes: 64 * 1024, maxBytes: 2 ** 40 },
    help: 'Size at which the server begins a new log file.',
    change: 'operator',
  },
  'log.keep': {
    env: null,
    default: 5,
    kind: integer(0, 100),
    help: 'How many older log files stay beside the present one.',
    change: 'operator',
  },
  'backup.daily': {
    env: 'CHANTIER_BACKUP_DAILY',
    default: 0,
    kind: integer(0, 365),
    help: 'How many daily backups are kept in backups/ of the home; 0 = none is made by itself.',
    change: 'operator',
  },
  'disk.minFree': {
    env: 'CHANTIER_DISK_MIN_FREE',
    default: 1024 ** 3,
    kind: { type: 'size', minBytes: 0, maxBytes: 2 ** 50 },
    help: 'With less free space nothing is started; what runs goes on, and dispatch by itself once there is room. 0B = never mind.',
    change: 'operator',
  },
  'retention.journals': {
    env: null,
    default: 90 * 86_400_000,
    kind: { type: 'duration', minMs: 0, maxMs: 3_650 * 86_400_000 },
    help: 'How long after its end what a session said and heard is kept, once its task is over and nothing of it is open; 0ms = always.',
    change: 'operator',
  },
  sandbox: {
    env: 'CHANTIER_SANDBOX',
    default: 'auto',
    kind: text(
      /^(auto|bubblewrap|seatbelt|none|user:[a-z_][a-z0-9_-]{0,31})$/,
      'auto, bubblewrap, seatbelt, none or user:<name>',
    ),
    help: 'The wall around agents. With none the promise "no agent can decide" does not hold.',
    change: 'fresh-proof',
  },
  'gate.phase': {
    env: 'CHANTIER_PHASE',
    default: 1,
    kind: integer(1, 4),
    help: 'Operating phase (G-23): 1 read-only, 2 writes are judged, 3 and alerts, 4 and self-extension. The environment can only lower it.',
    change: 'fresh-proof',
  },
  'gate.singleUseTtl': {
    env: null,
    default: 900_000,
    kind: seconds(60, 3600),
    help: 'How long a single-use approval of one call lives.',
    change: 'proof',
  },
  'gate.wait': {
    env: null,
    default: 'park',
    kind: { type: 'choice', values: ['park', 'hold'] },
    help: 'Whether a call that waits for a human returns at once (park) or stays open (hold).',
    change: 'proof',
  },
  'sessions.workKeys': {
    env: 'CHANTIER_WORK_KEYS',
    default: 'PD-9999',
    kind: text(
      /^[A-Z][A-Z0-9]{0,15}-9{1,9}(,[A-Z][A-Z0-9]{0,15}-9{1,9}){0,19}$/,
      'such as PD-9999 or PD-9999,SHOP-999999',
    ),
    help: 'Keys of your trackers that sessions may be named by, besides ours; the nines say how many digits (S-59, S-73).',
    change: 'operator',
  },
  'sessions.maxActive': {
    env: 'CHANTIER_MAX_ACTIVE',
    default: 5,
    kind: integer(1, 64),
    help: 'How many author sessions may be open at once (S-19, S-73).',
    change: 'proof',
  },
  'sessions.quotaCounts': {
    env: null,
    default: 'open',
    kind: { type: 'choice', values: ['open', 'working'] },
    help: 'Whether the quota counts open sessions (as the seed does) or only running turns.',
    change: 'proof',
  },
  'sessions.startTimeout': {
    env: null,
    default: 30_000,
    kind: seconds(5, 120),
    help: 'How long a new session may take until its agent is seen (S-29).',
    change: 'operator',
  },
  'sessions.livenessTimeout': {
    env: null,
    default: 30_000,
    kind: seconds(5, 300),
    help: 'How long a seen agent may take until its first sign of life (S-29).',
    change: 'operator',
  },
  'sessions.pollInterval': {
    env: null,
    default: 10_000,
    kind: seconds(1, 60),
    help: 'Length of the supervision cycle (S-42).',
    change: 'operator',
  },
  'sessions.peersPort': {
    env: 'CHANTIER_PEERS_PORT',
    default: 0,
    kind: integer(0, 65_535),
    help: 'Port on 127.0.0.1 that serves the claude-peers interface to agents you start yourself; 0 = closed. Theirs is 7899.',
    change: 'proof',
  },
  'sessions.peersToken': {
    env: null,
    default: false,
    kind: { type: 'flag' },
    help: 'Whether clients of the claude-peers port need the bearer token of `CHANTIER_HOME/keys/peers.token`.',
    change: 'proof',
  },
  'sessions.hungTimeout': {
    env: null,
    default: 120_000,
    kind: seconds(10, 3600),
    help: 'How long an unresponsive agent may stay so in an open turn before it counts as crashed.',
    change: 'operator',
  },
  'sessions.stallTimeout': {
    env: null,
    default: 1_800_000,
    kind: seconds(60, 86_400),
    help: 'How long a turn may stay without an event before it is cancelled.',
    change: 'operator',
  },
  'sessions.journalKeep': {
    env: null,
    default: 256 * 1024 * 1024,
    kind: { type: 'size', minBytes: 16 * 1024 * 1024, maxBytes: 2 ** 50 },
    help: "How much of a living agent's newest output stays whole. Older messages are freed where the file system can make holes.",
    change: 'operator',
  },
  'review.maxReviewers': {
    env: null,
    default: 2,
    kind: integer(1, 16),
    help: 'How many reviewer and QA sessions may be open at once, beside the authors.',
    change: 'proof',
  },
  'review.maxRounds': {
    env: null,
    default: 3,
    kind: integer(1, 10),
    help: 'How many rounds of review before humans are asked (R-14).',
    change: 'proof',
  },
  'review.skipRiskAssessment': {
    env: null,
    default: false,
    kind: { type: 'flag' },
    help: 'Turns the risk gate off (R-6). Reduces safety.',
    change: 'fresh-proof',
  },
  'land.auto': {
    env: null,
    default: 'none',
    kind: { type: 'choice', values: ['none', 'low', 'medium'] },
    help: 'Up to which change risk a reviewed change lands without a human; never for critical, and off without a sandbox.',
    change: 'fresh-proof',
  },
  'sandbox.allowedHosts': {
    env: 'CHANTIER_SANDBOX_ALLOWED_HOSTS',
    default: '',
    kind: text(/^$|^[a-z0-9.*-]+(,[a-z0-9.*-]+)*$/, 'host names with commas between; *.name for all below it'),
    help: 'Hosts that agents and set-up steps may reach besides the model APIs and your package registry.',
    change: 'fresh-proof',
  },
  'sandbox.memory': {
    env: null,
    default: 0,
    kind: { type: 'size', minBytes: 0, maxBytes: 2 ** 50 },
    help: 'Memory that one agent may use with all its programs; 0B = no limit. Needs a control group: `doctor` says where there is none (X-13).',
    change: 'operator',
  },
  'sandbox.nested': {
    env: null,
    default: '',
    kind: text(/^$|^[A-Za-z0-9._/-]+(,[A-Za-z0-9._/-]+)*$/, 'names of repositories with commas between'),
    help: 'Repositories whose programs may make namespaces of their own inside, as browsers with a sandbox do (X-11). Opens more of the kernel.',
    change: 'fresh-proof',
  },
  'workspace.root': {
    env: 'CHANTIER_WORK_ROOT',
    default: '',
    kind: path,
    help: 'Folder for the clones of sessions; empty = <home>-work.',
    change: 'restart-only',
  },
  'workspace.slots': {
    env: null,
    default: 2,
    kind: integer(1, 64),
    help: 'How many set-ups, builds and checks run at once on this machine.',
    change: 'operator',
  },
  'pressure.memory': {
    env: 'CHANTIER_PRESSURE_MEMORY',
    default: 10,
    kind: integer(1, 100),
    help: 'Nothing new starts while all work waited for memory for this percentage of the last ten seconds; 100 = never.',
    change: 'operator',
  },
  'pressure.io': {
    env: 'CHANTIER_PRESSURE_IO',
    default: 60,
    kind: integer(1, 100),
    help: 'Nothing new starts while all work waited for the disk for this percentage of the last ten seconds; 100 = never.',
    change: 'operator',
  },
  'pressure.freeMemory': {
    env: 'CHANTIER_PRESSURE_FREE_MEMORY',
    default: 512 * 1024 ** 2,
    kind: { type: 'size', minBytes: 0, maxBytes: 1024 ** 5 },
    help: 'Nothing new starts while less memory than this is available.',
    change: 'operator',
  },
  'notify.quietHours': {
    env: null,
    default: '',
    kind: text(
      /^$|^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/,
      'two times of day such as 22:00-07:00, or empty',
    ),
    help: 'When nothing is sent; what falls inside is told once at the end (S-35). Empty = never.',
    change: 'operator',
  },
  'notify.timeZone': {
    env: 'CHANTIER_TIME_ZONE',
    default: '',
    kind: text(/^$|^[A-Za-z0-9+/_-]{1,64}$/, 'an IANA name such as Europe/Vienna, or empty'),
    help: 'Time zone of the quiet hours and of times in messages. Empty = the zone of the machine.',
    change: 'operator',
  },
  'notify.criticalInQuietHours': {
    env: null,
    default: true,
    kind: { type: 'flag' },
    help: 'Whether crashes and a broker that is down are told in quiet hours too.',
    change: 'operator',
  },
  'notify.texts': {
    env: null,
    default: 'telegram',
    kind: { type: 'choice', values: ['none', 'telegram', 'all'] },
    help: 'Which channels carry texts of agents (questions, calls). Elsewhere a message holds ids and a link only.',
    change: 'proof',
  },
  'notify.webhookFormat': {
    env: null,
    default: 'json',
    kind: { type: 'choice', values: ['json', 'ntfy'] },
    help: 'What the webhook is sent: our JSON, or what an ntfy server takes.',
    change: 'operator',
  },
  'notify.link': {
    env: 'CHANTIER_LINK',
    default: '',
    kind: text(/^$|^https?:\/\/[^\s"<>\\]{1,200}$/, 'an http or https address, or empty'),
    help: 'Address of the console as your phone reaches it, for the link in messages. Empty = the address on this machine.',
    change: 'operator',
  },
  'notify.telegramApi': {
    env: 'CHANTIER_TELEGRAM_API',
    default: 'https://api.telegram.org',
    kind: text(/^https?:\/\/[^\s"<>\\?#]{1,200}$/, 'an http or https address'),
    help: 'Server of the Bot API. The token of the bot is sent there.',
    change: 'restart-only',
  },
  'budget.day': {
    env: null,
    default: '',
    kind: amount,
    help: 'What all work together may use in a day (of budget.timeZone); empty = no cap (sessions decision 7).',
    change: 'proof',
  },
  'budget.project': {
    env: null,
    default: '',
    kind: amount,
    help: 'What a project may use that has no budget of its own; empty = no cap.',
    change: 'proof',
  },
  'budget.task': {
    env: null,
    default: '50M',
    kind: amount,
    help: 'What a task may use that has no budget of its own, reviews included; empty = no cap. The default is a breaker for work that runs away.',
    change: 'proof',
  },
  'budget.plan': {
    env: null,
    default: 0,
    kind: integer(0, 100),
    help: 'Per cent of a subscription’s window up to which turns begin, where the agent reports it; 0 = no cap.',
    change: 'proof',
  },
  'budget.timeZone': {
    env: null,
    default: '',
    kind: text(/^$|^[A-Za-z0-9_+/-]{1,64}$/, 'empty (the machine’s) or a name such as Europe/Paris'),
    help: 'Time zone that decides which day it is for budget.day. What was booked keeps its day.',
    change: 'proof',
  },
  'budget.billing': {
    env: null,
    default: '',
    kind: text(
      /^$|^[a-z0-9-]{1,64}=(plan|metered)(,[a-z0-9-]{1,64}=(plan|metered))*$/,
      'agents with =plan or =metered, commas between',
    ),
    help: 'Who pays for an agent: a subscription (plan: its money is not counted) or by use (metered). It stands above what agents say.',
    change: 'proof',
  },
  'idempotency.ttl': {
    env: null,
    default: 86_400_000,
    kind: seconds(60, 604_800),
    help: 'How long an idempotency key is remembered (S-7).',
    change: 'operator',
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

/** The type of a parsed value, from its default. */
export type SettingOf<N extends SettingName> = (typeof settings)[N]['default'] extends boolean
  ? boolean
  : (typeof settings)[N]['default'] extends number
    ? number
    : string;
