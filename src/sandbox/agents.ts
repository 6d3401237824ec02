import type { WallRule } from './wall/rules.ts';

/** What the wall has to know of an agent program. */
export interface AgentNeeds {
  /** Where its log-in lies, relative to a home; inside it is mounted at the same place of the private home. */
  credentialFolder: string;
  /** The file in it that shows that somebody is logged in. */
  credentialFile: string;
  /** Where that file holds more than a log-in: its members that are one. Only they are shown, and nothing comes back. */
  credentialMembers?: readonly string[];
  /** Where each member of that file is a log-in: the kinds that are shown and come back; others may lead the program to settings. */
  credentialKinds?: readonly string[];
  /** Variable that names the folder to the program, when it does not follow HOME alone. */
  folderVariable?: string;
  /** Set when no key was handed over, so that the program takes the log-in: its own choice of one is not carried in. */
  logInEnv?: Readonly<Record<string, string>>;
  /** What an operator runs to log in. */
  logIn: string;
  /** Its ACP `authenticate` method that takes the stored log-in without asking anybody. */
  storedAuthMethod?: string;
  /** Names of API keys that an operator may hand over for it. */
  keyNames: readonly string[];
  /** Set when a key was handed over and the program does not look for one by itself. */
  keyEnv?: Readonly<Record<string, string>>;
  /** It writes a key that it was handed over in place of its stored log-in, which is then not shown to it: it is the operator's. */
  keyReplacesLogIn?: boolean;
  /** Its model API and what refreshes its log-in; nothing that it calls merely to report. */
  rules: readonly WallRule[];
  /** How its own sandbox is switched off in favour of ours: nested, every command fails while it reports success. */
  ownSandboxOff: { arguments: readonly string[]; env: Readonly<Record<string, string>>; acpMode?: string };
}

/** The agents that were tried behind the wall, by family of their program. */
export const agentNeeds = {
  'claude-code': {
    credentialFolder: '.claude',
    credentialFile: '.credentials.json',
    logIn: '`claude` and in it `/login`',
    folderVariable: 'CLAUDE_CONFIG_DIR',
    keyNames: ['ANTHROPIC_API_KEY', 'CLAUDE_CODE_OAUTH_TOKEN'],
    rules: [{ host: 'api.anthropic.com' }, { host: 'console.anthropic.com' }, { host: 'platform.claude.com' }],
    ownSandboxOff: {
      arguments: ['--settings', '{"sandbox":{"enabled":false}}'],
      env: { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    },
  },
  codex: {
    credentialFolder: '.codex',
    credentialFile: 'auth.json',
    logIn: '`codex login`',
    keyNames: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    // The adapter takes a key only when it is told to log in with one.
    keyEnv: { DEFAULT_AUTH_REQUEST: '{"methodId":"api-key"}' },
    keyReplacesLogIn: true,
    rules: [{ host: 'api.openai.com' }, { host: 'chatgpt.com' }, { host: 'auth.openai.com' }],
    ownSandboxOff: {
      arguments: ['--dangerously-bypass-approvals-and-sandbox'],
      env: {},
      acpMode: 'agent-full-access',
    },
  },
  'gemini-cli': {
    credentialFolder: '.gemini',
    credentialFile: 'oauth_creds.json',
    logIn: '`gemini` and choose to log in with Google',
    storedAuthMethod: 'oauth-personal',
    logInEnv: { GOOGLE_GENAI_USE_GCA: 'true' },
    keyNames: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    rules: [
      { host: 'generativelanguage.googleapis.com' },
      { host: 'cloudcode-pa.googleapis.com' },
      { host: 'oauth2.googleapis.com' },
    ],
    ownSandboxOff: { arguments: [], env: { GEMINI_SANDBOX: 'false', GEMINI_TELEMETRY_ENABLED: 'false' } },
  },
  opencode: {
    credentialFolder: '.local/share/opencode',
    credentialFile: 'auth.json',
    // Not `wellknown`: that is an address from which it takes its settings, commands among them.
    credentialKinds: ['oauth', 'api'],
    logIn: '`opencode auth login`',
    keyNames: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY'],
    rules: [{ host: 'opencode.ai' }, { host: 'models.dev' }, { host: 'api.anthropic.com' }, { host: 'api.openai.com' }],
    ownSandboxOff: { arguments: [], env: { OPENCODE_DISABLE_AUTOUPDATE: '1' } },
  },
  copilot: {
    credentialFolder: '.copilot',
    credentialFile: 'config.json',
    // Beside them lie trusted folders and other settings of the operator's own terminal.
    credentialMembers: [
      'last_logged_in_user',
      'lastLoggedInUser',
      'logged_in_users',
      'loggedInUsers',
      'copilot_tokens',
      'copilotTokens',
    ],
    logIn: '`copilot login`',
    keyNames: ['COPILOT_GITHUB_TOKEN'],
    rules: [{ host: 'api.githubcopilot.com' }, { host: '*.githubcopilot.com' }, { host: 'api.github.com' }],
    ownSandboxOff: { arguments: [], env: {} },
  },
} as const satisfies Record<string, AgentNeeds>;

export type AgentProgram = keyof typeof agentNeeds;

export const agentPrograms = Object.keys(agentNeeds) as readonly AgentProgram[];

/** Programs by the file name of the command that an operator registers. */
const programsByCommand: Readonly<Record<string, AgentProgram>> = {
  claude: 'claude-code',
  'claude-agent-acp': 'claude-code',
  'claude-code-acp': 'claude-code',
  codex: 'codex',
  'codex-acp': 'codex',
  gemini: 'gemini-cli',
  opencode: 'opencode',
  copilot: 'copilot',
};

/** Which known program a command starts, by its file name; `undefined` for any other. */
export function agentProgramOf(command: string): AgentProgram | undefined {
  return programsByCommand[
    command
      .split('/')
      .at(-1)
      ?.replace(/\.(js|mjs|cjs)$/, '') ?? ''
  ];
}
