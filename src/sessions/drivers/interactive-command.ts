import { agentNameOf } from '../../sandbox/index.ts';
import type { AgentProfile } from './driver.ts';
import { codexLayer } from './first-start.ts';

/** How a human goes on with an agent's conversation in a terminal. */
export interface InteractiveCommand {
  /** Name of the program; where it lies is for the caller to find. */
  program: string;
  args: readonly string[];
}

/** What the command line says of the session that a human goes on in. */
export interface TerminalSession {
  /** How the agent's own sandbox is switched off in favour of one that holds. */
  ownSandboxOff: readonly string[];
  /** Names of the variables that were handed over to the agent. */
  variables: readonly string[];
  /** The work folder where a sandbox holds: what starts from it starts inside, so nobody is asked whether to trust it. */
  trustedFolder?: string;
}

/**
 * The agent's own resume of `conversationId` (design 7 "Humans at the wheel"). The adapters' conversation ids are those of
 * the agents behind them, so their own programs open them. Options as printed by Claude Code 2.1.318, Codex 0.171.0,
 * OpenCode 1.18.33 and Copilot CLI 1.0.102. `undefined`: a shell is all there is, as for a command, an unknown ACP agent,
 * and Gemini CLI, which resumes by a number in a list and not by an id.
 */
export function interactiveCommand(
  profile: Pick<AgentProfile, 'command' | 'driver'>,
  conversationId: string | null,
  session: TerminalSession,
): InteractiveCommand | undefined {
  // Ids come from the agent: one that could be taken for an option, or for more than a word, is not put on a command line.
  if (conversationId === null || !/^[A-Za-z0-9][\w.:-]{0,127}$/.test(conversationId)) return undefined;
  const name = profile.driver === 'acp' ? agentNameOf(profile.command) : profile.driver;
  switch (name) {
    case 'claude-agent-acp':
    case 'claude':
      return {
        program: 'claude',
        args: [...askingFirst(ownWords(profile)), ...session.ownSandboxOff, '--resume', conversationId],
      };
    case 'codex-acp':
    case 'codex':
      return {
        program: 'codex',
        args: [
          'resume',
          ...ownWords(profile),
          ...adapterWords(profile, session.variables),
          ...trustWords(session.trustedFolder),
          ...session.ownSandboxOff,
          conversationId,
        ],
      };
    case 'opencode':
      return { program: 'opencode', args: ['--session', conversationId] };
    case 'copilot':
      return { program: 'copilot', args: [`--resume=${conversationId}`] };
    default:
      return undefined;
  }
}

/** What an operator registered behind the program itself (a model, say); an adapter's words are not its agent's. */
function ownWords({ driver, command }: Pick<AgentProfile, 'command' | 'driver'>): string[] {
  if (driver !== 'claude' && driver !== 'codex') return [];
  // `-p` is "print" to the one and names a profile to the other.
  const headless = driver === 'claude' ? ['-p', '--print'] : ['exec', '--dangerously-bypass-approvals-and-sandbox'];
  return command.slice(1).filter((word) => !headless.includes(word));
}

/** In a terminal Claude Code starts in a mode that decides by itself; a human begins where the agent was, and may switch. */
function askingFirst(words: string[]): string[] {
  const isChosen = words.some((word) => /^--(permission-mode|dangerously-skip-permissions)(=|$)/.test(word));
  return isChosen ? words : [...words, '--permission-mode', 'default'];
}

/** What Codex's adapter was told by variables stands in a file for a terminal (`firstStartFiles`). */
function adapterWords({ driver }: Pick<AgentProfile, 'driver'>, variables: readonly string[]): string[] {
  const isTold = driver === 'acp' && ['CODEX_CONFIG', 'MODEL_PROVIDER'].some((name) => variables.includes(name));
  return isTold ? ['--profile', codexLayer] : [];
}

/** A table in one line: the folder's name may hold dots, at which a path of names would be cut. */
function trustWords(folder: string | undefined): string[] {
  return folder === undefined ? [] : ['-c', `projects={${JSON.stringify(folder)}={trust_level="trusted"}}`];
}
