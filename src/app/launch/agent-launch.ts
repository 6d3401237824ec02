import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { GitIdentity, WorkFolder } from '../../forge/index.ts';
import { Fault } from '../../kernel/index.ts';
import { readOnlyPaths, type Repository, workFolderEnvironment } from '../../forge/index.ts';
import {
  type AgentNeeds,
  agentNeeds,
  type AgentProgram,
  prepareCredentials,
  type Sandbox,
  type SandboxProfile,
} from '../../sandbox/index.ts';
import {
  type AgentProfile,
  driverFor,
  type LaunchPlan,
  type McpServerSpec,
  profileForCommand,
  type Session,
} from '../../sessions/index.ts';
import type { Schema } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { insideOf, nestedRepositories } from '../workspace/inside.ts';
import { accountOf, programOf } from './account-of.ts';
import { agentFiles } from './agent-files.ts';
import { handedPrompt, startVariables, terminalHost } from './hand-over.ts';
import { openNetwork } from './agent-network.ts';

/** Where and for what an agent is started. */
export interface AgentPlace {
  kind: 'author' | 'reviewer';
  folder: WorkFolder;
  /** Left out for work without a repository. */
  repository?: Repository;
  access: 'read-write' | 'read-only';
  /** More paths to be shown read-only. */
  readOnly?: readonly string[];
  firstPrompt?: string;
  /** Queued texts that stand in it already. */
  foldedPrompts?: readonly string[];
  conversationId?: string;
  env?: Readonly<Record<string, string>>;
}

/** The start of one agent as data: profile, sandbox, environment, its tools, its first prompt (design sections 4 and 7). */
export async function planAgent(
  ctx: AppContext,
  session: Session,
  agent: Schema['agent'],
  place: AgentPlace,
): Promise<LaunchPlan> {
  const { sandbox } = insideOf(ctx);
  const profile = profileOf(agent);
  const driver = driverFor(profile);
  if (driver.asksNobody && !sandbox.holds)
    throw new Fault(
      'unsafe_mode',
      `${agent.codename} asks nobody before it acts; it starts only where a sandbox holds. Use the driver acp, or set up the sandbox.`,
    );
  const { needs } = needsOf(agent);
  const network = await openNetwork(ctx, session.id, needs?.rules ?? []);
  const door = await ctx.bridge.doors.open(session.id, sandbox.driver === 'user' ? sandbox.owner?.gid : undefined);
  const socket = join(sandbox.driver === 'bubblewrap' ? ctx.bridge.insideFolder : door, 'sock');
  const [bridgeProgram = '', ...bridgeArgs] = ctx.bridge.command;
  const mcpServers = (variables: Readonly<Record<string, string>>): McpServerSpec[] => [
    { name: 'chantier', command: bridgeProgram, args: bridgeArgs, env: { ...variables, CHANTIER_SOCKET: socket } },
  ];
  const started: AgentProfile = {
    ...profile,
    ...(sandbox.holds && profile.sandboxedMode !== undefined ? { mode: profile.sandboxedMode } : {}),
    ...(needs === undefined ? {} : logInOf(ctx, agent, needs)),
  };
  const handed = profile.driver === 'command' ? handedPrompt(place.firstPrompt ?? '') : undefined;
  return {
    profile: started,
    account: accountOf(agent, process.env),
    cwd: place.folder.clone,
    wrap: async (variables, stateFolder) => {
      const inside = await agentSandbox(ctx, session, agent, place, {
        variables: { ...variables, ...startVariables(ctx, handed), CHANTIER_SOCKET: socket },
        network,
        door,
        command: profile.command,
      });
      const command =
        driver.commandFor?.(started, {
          resume: place.conversationId ?? session.resumeConversationId,
          mcpServers: mcpServers(variables),
          ownSandboxOff: sandbox.holds ? (needs?.ownSandboxOff.arguments ?? []) : [],
          ...(handed === undefined ? {} : { prompt: handed }),
        }) ?? profile.command;
      const terminal = profile.tty ? terminalHost(ctx) : { words: [], folders: [] };
      const readOnly = [...(inside.readOnly ?? []), ...terminal.folders];
      return sandbox.wrap({ ...inside, readOnly }, [...terminal.words, ...command], stateFolder);
    },
    mcpServers,
    ...(place.firstPrompt === undefined || handed !== undefined ? {} : { firstPrompt: place.firstPrompt }),
    ...(place.foldedPrompts === undefined ? {} : { foldedPrompts: place.foldedPrompts }),
    ...(place.conversationId === undefined ? {} : { conversationId: place.conversationId }),
  };
}

/** How it is logged in: by itself where its log-in is stored and shown to it, else by a human (design section 7). */
function logInOf(ctx: AppContext, agent: Schema['agent'], needs: AgentNeeds): Partial<AgentProfile> {
  const isStored = existsSync(join(ctx.operatorHome, needs.credentialFolder, needs.credentialFile));
  const hasKey = accountOf(agent, process.env).startsWith('key:');
  const takesStored = isStored && !hasKey && needs.storedAuthMethod !== undefined;
  return { logIn: needs.logIn, ...(takesStored ? { authMethod: needs.storedAuthMethod } : {}) };
}

/** What an agent's program needs of sandbox and wall; nothing is known of an unknown one. */
export function needsOf(agent: Schema['agent']): { program?: AgentProgram; needs?: AgentNeeds } {
  const program = programOf(agent);
  return program === undefined ? {} : { program, needs: agentNeeds[program] };
}

/**
 * The sandbox of an agent as data, with its environment and its own log-in: for the agent itself, and for the human who takes
 * it over. `command` names the programs whose folders must be seen inside; `identity` is who commits, default the agent.
 */
export async function agentSandbox(
  ctx: AppContext,
  session: Session,
  agent: Schema['agent'],
  place: AgentPlace,
  start: {
    variables: Readonly<Record<string, string>>;
    network: SandboxProfile['network'];
    /** The folder of the session's door; left out = no way to the server. */
    door?: string;
    command: readonly string[];
    identity?: GitIdentity;
  },
): Promise<SandboxProfile> {
  const profile = profileOf(agent);
  const { program, needs } = needsOf(agent);
  const identity = start.identity ?? { name: session.agent, email: `${session.agent}@agents.chantier.invalid` };
  const env = environmentOf(ctx, identity, agent, profile, needs, place, start.variables);
  const { sandbox } = insideOf(ctx);
  const isReplaced = needs?.keyReplacesLogIn === true && hasKey(agent, needs);
  const logIn = program === undefined || isReplaced ? {} : await prepareLogIn(ctx, sandbox, program, place.folder.home);
  return { ...sandboxProfile(ctx, place, env, start), ...logIn };
}

/** The driver profile of a registered agent: a known one where the program is known, its own command always. */
export function profileOf(agent: Schema['agent']): AgentProfile {
  const command = JSON.parse(agent.command ?? '[]') as string[];
  const profile = profileForCommand({
    name: agent.codename,
    driver: agent.driver,
    command,
    family: agent.family ?? 'unknown',
  });
  return agent.tty === 1 ? { ...profile, tty: true } : profile;
}

function environmentOf(
  ctx: AppContext,
  identity: GitIdentity,
  agent: Schema['agent'],
  profile: AgentProfile,
  needs: AgentNeeds | undefined,
  place: AgentPlace,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const allowed = JSON.parse(agent.env_names ?? '[]') as string[];
  const handed = allowed.flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  const credentials = needs?.folderVariable
    ? { [needs.folderVariable]: join(place.folder.home, needs.credentialFolder) }
    : {};
  const logIn = needs && hasKey(agent, needs) ? needs.keyEnv : needs?.logInEnv;
  return workFolderEnvironment(place.folder, {
    identity,
    inside: insideOf(ctx),
    ...(place.env ? { env: place.env } : {}),
    set: {
      ...ctx.carried.env,
      ...needs?.ownSandboxOff.env,
      ...profile.environment,
      ...credentials,
      ...logIn,
      ...Object.fromEntries(handed),
      ...variables,
    },
  });
}

/** Whether a key of its program is handed over to an agent. */
function hasKey(agent: Schema['agent'], needs: AgentNeeds): boolean {
  const handed = JSON.parse(agent.env_names ?? '[]') as string[];
  return needs.keyNames.some((name) => handed.includes(name) && process.env[name] !== undefined);
}

/** Shows the agent its log-in, and nothing else of the operator's folder: settings and hooks left there would run outside. */
function prepareLogIn(ctx: AppContext, sandbox: Sandbox, program: AgentProgram, privateHome: string) {
  const owner = sandbox.owner ? { owner: sandbox.owner } : {};
  return prepareCredentials({
    program,
    operatorHome: ctx.operatorHome,
    store: credentialStore(ctx),
    privateHome,
    ...owner,
  });
}

/** Where the log-ins of agents lie for their sandboxes; `returnCredentials` brings back from here what was refreshed. */
export function credentialStore(ctx: Pick<AppContext, 'paths'>): string {
  return join(ctx.paths.home, 'credentials');
}

function sandboxProfile(
  ctx: AppContext,
  place: AgentPlace,
  env: Record<string, string>,
  { network, command, door }: { network: SandboxProfile['network']; command: readonly string[]; door?: string },
): SandboxProfile {
  const memoryBytes = ctx.config.get('sandbox.memory');
  const forge = place.repository ? readOnlyPaths(place.repository, place.folder) : [];
  return {
    kind: place.kind,
    workFolder: place.folder.clone,
    workFolderAccess: place.access,
    home: place.folder.home,
    readOnly: [
      ...forge,
      ...(place.readOnly ?? []),
      ...ctx.carried.readOnly,
      ...ctx.bridge.readOnly,
      ...agentFiles(command, [ctx.operatorHome, ctx.paths.home]),
    ],
    writable: [place.folder.cache, place.folder.tmp],
    socketFolders: door === undefined ? [] : [{ outside: door, inside: ctx.bridge.insideFolder }],
    env,
    cwd: place.folder.clone,
    network,
    nested: place.repository !== undefined && nestedRepositories(ctx).includes(place.repository.name),
    limits: memoryBytes > 0 ? { memoryBytes } : {},
  };
}
