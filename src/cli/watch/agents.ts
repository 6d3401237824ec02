import { homedir } from 'node:os';
import { join } from 'node:path';

/** One hook as it is put into an agent's file. */
export interface HookPlace {
  event: string;
  /** Which tools or notifications; left out = all. */
  matcher?: string;
  /** Members beside `type` and `command`. */
  options?: Readonly<Record<string, string | number | boolean>>;
}

/** Where an agent reads hooks from, and which ones let its sessions be watched. Source: design section 7. */
export interface WatchableAgent {
  /** The file of the user's own settings; it may not exist yet. */
  file(env: NodeJS.ProcessEnv): string;
  hooks: readonly HookPlace[];
  /** What the human does once in the agent, if anything. */
  afterwards?: string;
  /** What can be done through Chantier. */
  can: string;
}

const homeOf = (env: NodeJS.ProcessEnv): string => env.HOME || homedir();
/** As long as a human may take; the agents end a hook after their own time otherwise. */
const longS = 7 * 24 * 3600;
const hold = { timeout: longS, statusMessage: 'Waiting for your answer in Chantier, or here in a while' };

/** The agents whose hand-started sessions can be watched. */
export const watchableAgents: Readonly<Record<string, WatchableAgent>> = {
  claude: {
    file: (env) => join(env.CLAUDE_CONFIG_DIR || join(homeOf(env), '.claude'), 'settings.json'),
    hooks: [
      { event: 'SessionStart' },
      { event: 'UserPromptSubmit', options: { async: true } },
      { event: 'PermissionRequest', options: { timeout: longS } },
      { event: 'PostToolUse', options: { async: true } },
      { event: 'PostToolUseFailure', options: { async: true } },
      { event: 'Stop' },
      { event: 'SessionEnd' },
    ],
    can: 'Permissions and questions are answered here or in its terminal, whichever comes first.',
  },
  codex: {
    file: (env) => join(env.CODEX_HOME || join(homeOf(env), '.codex'), 'hooks.json'),
    hooks: [
      { event: 'SessionStart' },
      { event: 'UserPromptSubmit' },
      { event: 'PermissionRequest', options: hold },
      { event: 'Stop' },
      { event: 'SessionEnd' },
    ],
    afterwards: 'Codex asks once whether it may run them: press t in the list that it shows.',
    can: 'Permissions are answered here; after two minutes Codex asks in its own terminal instead.',
  },
  gemini: {
    file: (env) => join(homeOf(env), '.gemini', 'settings.json'),
    hooks: [
      { event: 'SessionStart' },
      { event: 'BeforeAgent' },
      { event: 'Notification', matcher: 'ToolPermission' },
      { event: 'AfterAgent' },
      { event: 'SessionEnd' },
    ],
    can: 'It is shown that it waits; Gemini CLI takes the answer in its own terminal only.',
  },
};
