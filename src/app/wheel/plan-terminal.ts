import { existsSync } from 'node:fs';
import { access, constants, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { configuredEnvironment, shellLine } from '../../forge/index.ts';
import { runMarkerName } from '../../sandbox/index.ts';
import {
  interactiveCommand,
  type SessionRow,
  type TakeoverRow,
  type TerminalSession,
  terminalMarker,
  toSession,
} from '../../sessions/index.ts';
import type { Schema } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { agentSandbox, needsOf, profileOf } from '../launch/agent-launch.ts';
import { openNetwork } from '../launch/agent-network.ts';
import { resolveProgram } from '../work/agents.ts';
import { requireSandbox } from '../workspace/inside.ts';
import type { SessionFolder } from '../workspace/session-folder.ts';
import { answerFirstStart } from './answer-first-start.ts';
import { enterScript, hasTerminalTools } from './enter-script.ts';
import { terminalFolder } from './terminals.ts';

/** A terminal that waits to be opened. */
export interface PlannedTerminal {
  /** What the operator's terminal executes; on the server's machine, as the server's user. */
  command: string[];
  /** What runs inside. */
  program: 'agent' | 'shell';
  /** The agent's own resume as it may be typed inside; null where there is none. */
  resume: string | null;
  /** Why there is only a shell. */
  note: string | null;
}

/**
 * Prepares terminal `n` of a takeover: the agent's own resume, or a shell, in the sandbox that the session had: its folder,
 * log-in and network wall, but neither its token nor the way to the server, so that what runs there can report and decide nothing.
 */
export async function planTerminal(
  ctx: AppContext,
  session: SessionRow,
  takeover: TakeoverRow,
  place: SessionFolder,
  request: { n: number; shell: boolean; term: string },
): Promise<Result<PlannedTerminal>> {
  const sandbox = requireSandbox(ctx);
  if (!sandbox.ok) return sandbox;
  const agent = await ctx.store.read
    .selectFrom('agent')
    .selectAll()
    .where('codename', '=', session.agent)
    .executeTakeFirst();
  if (!agent) return refuse('not-found', 'unknown_agent', `There is no agent ${session.agent} any more.`);
  const profile = profileOf(agent);
  const { needs } = needsOf(agent);
  const { home, clone } = place.folder;
  const { holds } = sandbox.value;
  const own = await ownResume(ctx, session, agent, {
    ownSandboxOff: holds ? (needs?.ownSandboxOff.arguments ?? []) : [],
    ...(holds ? { trustedFolder: clone } : {}),
  });
  const isShell = request.shell || own.command === undefined;
  const command = isShell ? shellCommand : own.command!;
  const { marker, again } = {
    marker: terminalMarker(takeover.id),
    again: `chantier takeover ${session.work_key} --again`,
  };
  const ownTerminal = hasTerminalTools();
  const inside = await agentSandbox(
    ctx,
    toSession(session),
    agent,
    {
      kind: 'author',
      ...place,
      access: 'read-write',
      ...(place.repository ? { env: configuredEnvironment(place.repository.config, place.folder) } : {}),
    },
    {
      variables: { [runMarkerName]: marker, TERM: request.term },
      network: await openNetwork(ctx, session.id, needs?.rules ?? []),
      command: [...profile.command, ...(own.command ?? [])],
      identity: { name: takeover.taken_by, email: 'wheel@humans.chantier.invalid' },
    },
  );
  const folder = terminalFolder(ctx, session.id, takeover.id, request.n);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const answered = await answerFirstStart(profile, { home, folder: clone, env: inside.env, holds });
  const wrapped = await sandbox.value.wrap(
    { ...inside, env: { ...inside.env, ...answered.variables }, ownTerminal },
    [...answered.words, ...command],
    folder,
  );
  const path = join(folder, 'enter.sh');
  await writeFile(path, enterScript(wrapped, { path, marker, again, ownTerminal }), { mode: 0o600 });
  return ok({
    command: ['/bin/sh', path],
    program: isShell ? 'shell' : 'agent',
    resume: own.command === undefined ? null : shellLine(own.command),
    note: request.shell || own.command !== undefined ? null : own.why,
  });
}

/** Without what an agent may have left in its home for shells to read. */
const shellCommand = existsSync('/bin/bash') ? ['/bin/bash', '--norc', '--noprofile'] : ['/bin/sh'];

/** The agent's own resume with its program found: named by the agent's command, beside it, or on the operator's PATH. */
async function ownResume(
  ctx: AppContext,
  session: SessionRow,
  agent: Schema['agent'],
  inSandbox: Pick<TerminalSession, 'ownSandboxOff' | 'trustedFolder'>,
): Promise<{ command?: string[]; why: string }> {
  const profile = profileOf(agent);
  const conversation = session.conversation_id ?? session.resume_conversation_id;
  if (conversation === null) return { why: 'there is no conversation to resume yet; a shell in its folder instead' };
  const handed = JSON.parse(agent.env_names ?? '[]') as string[];
  const variables = handed.filter((name) => process.env[name] !== undefined);
  const own = interactiveCommand(profile, conversation, { ...inSandbox, variables });
  if (!own) return { why: `${session.agent} has no resume of its own in a terminal; a shell in its folder instead` };
  for (const candidate of candidatesOf(profile.command, own.program))
    if (await isExecutable(candidate)) return { command: [candidate, ...own.args], why: '' };
  const found = await resolveProgram(own.program, ctx.carried.path);
  if (found.ok) return { command: [found.value, ...own.args], why: '' };
  return { why: `there is no program ${own.program} on this machine; a shell in its folder instead` };
}

/** An adapter brings the agent's program along: beside itself, or in a package for this machine. */
function candidatesOf(command: readonly string[], program: string): string[] {
  return command
    .filter((word) => word.startsWith('/'))
    .flatMap((path) => {
      const modules = path.indexOf('/node_modules/');
      const root = modules < 0 ? undefined : path.slice(0, modules + '/node_modules'.length);
      return [
        ...(basename(path) === program ? [path] : []),
        join(dirname(path), program),
        ...(root === undefined
          ? []
          : [
              join(root, '.bin', program),
              join(root, '@anthropic-ai', `claude-agent-sdk-${process.platform}-${process.arch}`, program),
            ]),
      ];
    });
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
