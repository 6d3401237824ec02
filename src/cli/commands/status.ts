import type { Command } from 'commander';

import { capText, moneyText, planText, spendingText, type StatusView, tokensText } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { causeText, retryText } from '../show-failure.ts';
import { counted, oneLine, shortTime, table, timeLeft } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('[session]', 'Work key or id of a session');
  context.action(command, async ({ args }) => {
    const status = await context.get<StatusView>('/api/status', { session: args[0] });
    const console = await consoleOf(context);
    return { json: status, text: textOf(status, console) };
  });
}

/** Where the console of the server of this home is; a server named by `CHANTIER_URL` is known to whoever named it. */
async function consoleOf({ io, paths }: CliContext): Promise<string | undefined> {
  if (io.env.CHANTIER_URL) return undefined;
  const { readRunningServer } = await import('../../store/index.ts');
  return readRunningServer(paths)?.address;
}

function textOf(status: StatusView, console: string | undefined): string {
  const { quota } = status;
  const lines = [
    `Chantier ${status.version} · phase ${status.phase} · broker ${status.broker}${console === undefined ? '' : ` · console ${console}`}${status.halted ? ' · HALTED by "stop --all"' : ''}`,
    status.sandbox.holds ? `Sandbox ${status.sandbox.driver}: holds.` : `WARNING ${status.sandbox.message}`,
    `${quota.active}/${quota.max} sessions, ${quota.reviewers}/${quota.maxReviewers} reviewers · ${counted(status.readyTasks, 'ready task')} · ${counted(status.openDecisions, 'open decision')}${status.openDecisions > 0 ? ' ("chantier pending")' : ''}`,
  ];
  const { slots, isHeld, reason, goesOn } = status.machine;
  if (slots.inUse > 0 || slots.waiting > 0)
    lines.push(`Set-ups and checks: ${slots.inUse} of ${slots.max} slots in use, ${slots.waiting} waiting.`);
  if (isHeld) lines.push(`Nothing new starts: ${oneLine(reason ?? '')}. It goes on when ${oneLine(goesOn ?? '')}.`);
  if (status.disk.isShort) lines.push(...diskLines(status.disk));
  const { today } = status;
  lines.push(
    `Today ${today.day}: ${spendingText(today.spending)}${today.budget === null ? '' : ` · cap: ${capText(today.budget)}`}`,
    ...today.plans.map(planText),
    ...(today.prices.fault === null ? [] : [`WARNING ${oneLine(today.prices.fault, 300)}`]),
  );
  if (status.sessions.length > 0) {
    lines.push(
      '',
      table(
        ['WORK KEY', 'STATE', 'ROLE', 'AGENT', 'LAST SEEN', 'USED', 'DOES'],
        status.sessions.map((session) => [
          session.workKey,
          session.state + flagsOf(session),
          session.role,
          session.agent,
          `${shortTime(session.lastSeenAt)}${session.sources.lastSeenAt === 'inferred' ? ' (inferred)' : ''}`,
          usedText(session),
          oneLine(session.openEscalations[0] ? `asks: ${session.openEscalations[0].text}` : session.summary, 60),
        ]),
      ),
    );
  }
  const failed = status.sessions.filter(({ failure }) => failure !== null);
  const retries = status.retries.map(retryText);
  const ends = failed
    .filter(({ id }) => !status.retries.some(({ sessionId }) => sessionId === id))
    .map(({ workKey, endReason, failure }) => `${oneLine(workKey, 120)} failed: ${causeText(endReason, failure)}`);
  if (retries.length + ends.length > 0) lines.push('', ...retries, ...ends);
  for (const { account, reason, until } of status.limits) {
    const end = until === null ? 'until it is settled: "chantier pending"' : `for ${timeLeft(until)}`;
    lines.push('', `The account ${oneLine(account, 80)} is limited (${reason}) ${end}; nothing is started on it.`);
  }
  if (status.watched.length > 0) {
    lines.push(
      '',
      table(
        ['STARTED BY HAND', 'STATE', 'FOLDER', 'LAST SEEN', 'WAITS FOR'],
        status.watched.map((session) => [
          session.agent,
          session.state,
          oneLine(session.folder, 60),
          shortTime(session.lastSeenAt),
          oneLine(session.waitsFor.map(waitText).join(', '), 60),
        ]),
      ),
    );
  }
  const failing = status.channels.filter((channel) => channel.state === 'failing');
  if (failing.length > 0)
    lines.push('', ...failing.map((one) => `WARNING ${one.target}: ${oneLine(one.message, 200)}`));
  if (status.denied.length > 0) {
    lines.push(
      '',
      `The wall refused: ${status.denied.map(({ host, count }) => `${oneLine(host, 80)} (${count})`).join(', ')}`,
    );
  }
  return lines.join('\n');
}

function diskLines({ path, freeBytes, minFreeBytes, places }: StatusView['disk']): string[] {
  return [
    `WARNING ${formatBytes(freeBytes)} free at ${oneLine(path, 200)}, less than disk.minFree (${formatBytes(minFreeBytes)}): nothing is started until there is room.`,
    ...places.map(
      (place) =>
        `  ${place.bytes === null ? '?' : formatBytes(place.bytes)}  ${place.what} (${oneLine(place.path, 200)}): ${place.cure}`,
    ),
  ];
}

function formatBytes(bytes: number): string {
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(0)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

function waitText({ kind, tool, decisionId }: StatusView['watched'][number]['waitsFor'][number]): string {
  return decisionId === null ? `${tool || kind} (answer it there)` : `${tool || kind} (${decisionId})`;
}

/** `28k/~40k`: tokens used, of those that were expected. */
function usedText({ spending, estimate }: StatusView['sessions'][number]): string {
  const expected = estimate === null ? '' : `/~${tokensText(estimate.tokens)}`;
  return `${tokensText(spending.tokens)}${expected}${spending.costMicros === null ? '' : ` ${moneyText(spending.costMicros)}`}`;
}

function flagsOf({ flags, takeover }: StatusView['sessions'][number]): string {
  const words = [
    flags.waitingApproval && 'waiting for approval',
    flags.unresponsive && 'unresponsive',
    flags.stalled && 'stalled',
    flags.takenOver &&
      `taken over${takeover ? ` by ${oneLine(takeover.by, 40)} since ${shortTime(takeover.since)}` : ''}`,
    flags.limitedUntil && `limited, ${timeLeft(flags.limitedUntil)} left`,
  ].filter(Boolean);
  return words.length > 0 ? ` (${words.join(', ')})` : '';
}
