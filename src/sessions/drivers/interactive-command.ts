import { agentNameOf } from '../../sandbox/index.ts';
import type { AgentProfile } from './driver.ts';

/** How a human goes on with an agent's conversation in a terminal. */
export interface InteractiveCommand {
  /** Name of the program; where it lies is for the caller to find. */
  program: string;
  args: readonly string[];
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
  ownSandboxOff: readonly string[],
): InteractiveCommand | undefined {
  // Ids come from the agent: one that could be taken for an option, or for more than a word, is not put on a command line.
  if (conversationId === null || !/^[A-Za-z0-9][\w.:-]{0,127}$/.test(conversationId)) return undefined;
  const name = profile.driver === 'acp' ? agentNameOf(profile.command) : profile.driver;
  switch (name) {
    case 'claude-agent-acp':
    case 'claude':
      return { program: 'claude', args: [...ownWords(profile), ...ownSandboxOff, '--resume', conversationId] };
    case 'codex-acp':
    case 'codex':
      return { program: 'codex', args: ['resume', ...ownWords(profile), ...ownSandboxOff, conversationId] };
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
  const headless = new Set(['exec', '-p', '--print', '--dangerously-bypass-approvals-and-sandbox']);
  return command.slice(1).filter((word) => !headless.has(word));
}
