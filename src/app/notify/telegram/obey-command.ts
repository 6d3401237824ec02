import { shortTimeIn } from '../quiet-hours.ts';
import { callerOf, say, type Turn } from './conversation.ts';
import { describeClosed, readDecision, settleByPhone, showDecision } from './settle-by-phone.ts';
import { wasShown } from './sent-messages.ts';

/** A command of an owner (G-19); everything else in a message is no command. */
export interface PhoneCommand {
  name: CommandName;
  argument: string;
  messageId: number;
}

const commandNames = ['start', 'help', 'whoami', 'pending', 'show', 'approve', 'refuse', 'status', 'stop_all'] as const;
type CommandName = (typeof commandNames)[number];

/** Reads `/name argument`; a command for another bot of the chat, or one that is unknown, is none. */
export function readCommand(text: string): Omit<PhoneCommand, 'messageId'> | undefined {
  const match = /^\/([a-z_]{1,32})(?:\s+(\S[\s\S]{0,200}))?$/i.exec(text.trim());
  const name = match?.[1]?.toLowerCase() as CommandName | undefined;
  return name !== undefined && commandNames.includes(name) ? { name, argument: match?.[2]?.trim() ?? '' } : undefined;
}

const help = `Reply to a question to answer it; press a button to decide.
/pending what waits for you
/show <id> one decision with its buttons
/approve <id>, /refuse <id> once it was shown here
/status everything at a glance
/stop_all stop dispatch and end every agent; their work is kept
/whoami your Telegram id
Landing, trust and what lowers safety are decided in the console or the terminal.`;

/** So many open decisions are listed. */
const maxListed = 20;

/** Does what the command says; decisions take the same way as everywhere else. */
export async function obeyCommand(turn: Turn, command: PhoneCommand): Promise<void> {
  const { name, argument, messageId } = command;
  switch (name) {
    case 'start':
    case 'help':
      await say(turn, `You decide here as ${turn.owner.name}.\n${help}`);
      return;
    case 'whoami':
      await say(turn, `Your Telegram id is ${turn.owner.telegramId}; you decide here as ${turn.owner.name}.`);
      return;
    case 'pending':
      await say(turn, await listPending(turn));
      return;
    case 'status':
      await say(turn, await describeStatus(turn));
      return;
    case 'stop_all':
      await say(turn, await stopAll(turn), messageId);
      return;
    default:
      if (!/^[a-z0-9-]{1,64}$/.test(argument)) {
        await say(turn, `Usage: /${name} <id>; /pending lists the ids.`);
        return;
      }
      await lookAt(turn, { name, argument, messageId });
  }
}

async function lookAt(turn: Turn, { name, argument, messageId }: PhoneCommand): Promise<void> {
  const decision = await readDecision(turn.ctx, argument);
  if (!decision) {
    await say(turn, `unknown id ${argument}`, messageId);
    return;
  }
  if (decision.state !== 'open') {
    await say(turn, await describeClosed(turn.ctx, decision.id), messageId);
    return;
  }
  // Nobody says yes to what they have not seen.
  if (name === 'show' || !(await wasShown(turn.ctx, turn.owner.telegramId, decision.id))) {
    await showDecision(turn, decision);
    return;
  }
  const verdict = name === 'approve' ? ('approve' as const) : ('refuse' as const);
  const outcome = await settleByPhone(turn, decision.id, { verdict });
  await say(turn, outcome.text, messageId);
}

async function listPending(turn: Turn): Promise<string> {
  const rows = await turn.ctx.store.read
    .selectFrom('decision_request')
    .select(['id', 'kind', 'created_at', 'detail'])
    .where('state', '=', 'open')
    .orderBy('created_at')
    .orderBy('id')
    .limit(maxListed + 1)
    .execute();
  if (rows.length === 0) return 'Nothing waits for you.';
  const zone = turn.ctx.config.get('notify.timeZone');
  const lines = rows.slice(0, maxListed).map((row) => {
    const { work_key: key, tier } = JSON.parse(row.detail) as { work_key?: string; tier?: string };
    const about = [key, tier].filter((word) => word !== undefined && word !== '').join(', ');
    const since = shortTimeIn(zone, row.created_at);
    return `${row.id} · ${row.kind.replaceAll('_', ' ')}${about === '' ? '' : ` · ${about}`} · since ${since}`;
  });
  if (rows.length > maxListed) lines.push('… and more: "chantier pending"');
  return `${lines.join('\n')}\n/show <id> shows one.`;
}

async function describeStatus(turn: Turn): Promise<string> {
  const read = await turn.app().sessions.status(callerOf(turn));
  if (!read.ok) return read.refusal.message;
  const status = read.value;
  const lines = [
    `Chantier ${status.version}${status.halted ? ' · HALTED' : ''} · broker ${status.broker}`,
    status.sandbox.holds ? 'The sandbox holds.' : 'WARNING: the sandbox does not hold.',
    `${status.quota.active} of ${status.quota.max} sessions · ${status.readyTasks} ready tasks · ${status.openDecisions} open decisions`,
    ...status.sessions.slice(0, maxListed).map((session) => `${session.workKey}: ${session.state}`),
  ];
  return lines.join('\n');
}

async function stopAll(turn: Turn): Promise<string> {
  const stopped = await turn.app().sessions.stopAll(callerOf(turn), 'stopped by Telegram');
  if (!stopped.ok) return stopped.refusal.message;
  return `Everything is stopped; the work is kept. "chantier stop --go-on" at the terminal lets it go on.`;
}
