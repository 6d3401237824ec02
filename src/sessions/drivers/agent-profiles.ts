import { agentNameOf } from '../../sandbox/index.ts';
import type { AgentProfile } from './driver.ts';

const acp = { driver: 'acp', environment: {}, stop: {}, quirks: {} } as const;

/**
 * Known agents. Commands, modes and graces as seen with the versions of "Real agents" in the specification; anything here
 * may be overridden by the instance's configuration. Modes are the asking ones: agents do not start safe (trap 2).
 */
export const agentProfiles: readonly AgentProfile[] = [
  {
    ...acp,
    name: 'claude-agent-acp',
    command: ['claude-agent-acp'],
    family: 'claude',
    environmentNames: ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CONFIG_DIR'],
    environment: {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      MCP_TOOL_TIMEOUT: '2147483647',
    },
    mode: 'default',
  },
  {
    ...acp,
    name: 'codex-acp',
    command: ['codex-acp'],
    family: 'codex',
    environmentNames: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_HOME'],
    environment: { NO_BROWSER: '1' },
    mode: 'agent',
    sandboxedMode: 'agent-full-access',
    // It took 2.1 s to end after its stdin. Without a network it reconnects for ever: only its silence tells (STALLED).
    stop: { endOfInputGraceMs: 2_500 },
  },
  {
    ...acp,
    name: 'gemini',
    command: ['gemini', '--acp'],
    family: 'gemini',
    environmentNames: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL', 'GOOGLE_CLOUD_PROJECT'],
    // Without the first it starts itself again and the outer process passes no signal on; without the second it starts no
    // MCP server in a folder that it does not know, and so could neither ask nor report.
    environment: { GEMINI_CLI_NO_RELAUNCH: 'true', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    mode: 'default',
    quirks: { modeEcho: '[MODE_UPDATE] ' },
  },
  {
    ...acp,
    name: 'opencode',
    command: ['opencode', 'acp'],
    family: 'opencode',
    environmentNames: ['OPENCODE_CONFIG', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    // With a permission open it was seen not to end for 69 s after SIGTERM: the default grace before SIGKILL will do.
    // Its modes choose an agent (build, plan), not what is asked. By itself it asks nothing; this stands above its
    // configuration and the repository's.
    environment: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_PERMISSION: '{"bash":"ask","edit":"ask","webfetch":"ask"}',
    },
    mode: null,
  },
  {
    ...acp,
    name: 'copilot',
    command: ['copilot', '--acp'],
    family: 'copilot',
    environmentNames: [
      'COPILOT_GITHUB_TOKEN',
      'COPILOT_PROVIDER_BASE_URL',
      'COPILOT_PROVIDER_API_KEY',
      'COPILOT_MODEL',
    ],
    environment: { COPILOT_AUTO_UPDATE: 'false' },
    // It names its modes by address; `#autopilot` would approve everything by itself.
    mode: 'https://agentclientprotocol.com/protocol/session-modes#agent',
    // Version 1.0.102 rejects stdio servers of `session/new`, by which it could neither ask nor report.
    quirks: { mcpArgument: '--additional-mcp-config' },
    // Its wrapper dies of a signal while its child lives on and may still end the turn: the latch ignores what comes then, and
    // the sweep by marker ends the child (decision 5).
  },
];

/** Profiles of the agents that have a driver of their own, whatever their program is called. */
const nativeProfiles: Readonly<Record<'claude' | 'codex', AgentProfile>> = {
  claude: {
    name: 'claude',
    driver: 'claude',
    command: ['claude'],
    family: 'claude',
    environmentNames: ['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CONFIG_DIR'],
    environment: {
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      MCP_TOOL_TIMEOUT: '2147483647',
    },
    // Asks for everything; inside a sandbox that holds the judge says yes to it and counts.
    mode: 'default',
    stop: {},
    quirks: {},
  },
  codex: {
    name: 'codex',
    driver: 'codex',
    command: ['codex'],
    family: 'codex',
    environmentNames: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_HOME'],
    environment: {},
    // Its own name for "asks nobody and has no sandbox"; the driver starts where ours holds only.
    mode: 'danger-full-access',
    stop: { endOfInputGraceMs: 2_500 },
    quirks: {},
  },
};

/** The known profile of this name, if any. */
export function findAgentProfile(name: string): AgentProfile | undefined {
  return agentProfiles.find((profile) => profile.name === name);
}

/**
 * The profile of a configured command: a known one when the program's name is known, else a bare one. An unknown ACP agent
 * sets no mode; the caller says so where it matters.
 */
export function profileForCommand(agent: {
  name: string;
  driver: AgentProfile['driver'];
  command: readonly string[];
  family: string;
  tty?: boolean;
}): AgentProfile {
  const known = knownProfile(agent.driver, agent.command);
  const bare = { environmentNames: [], environment: {}, mode: null, stop: {}, quirks: {} };
  return { ...bare, ...known, ...agent };
}

function knownProfile(driver: AgentProfile['driver'], command: readonly string[]): AgentProfile | undefined {
  if (driver === 'claude' || driver === 'codex') return nativeProfiles[driver];
  return driver === 'acp' ? findAgentProfile(agentNameOf(command)) : undefined;
}
