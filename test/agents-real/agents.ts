import type { ModelStep, ProviderRefusal } from './model-script.ts';

/** Name and port under which agents know the model; the wall sends both to the scripted one. */
export const modelHost = 'model.chantier.test';
const model = `http://${modelHost}`;

/** A real agent program: how it is installed, started and led to the model, and how it names what it does. */
export interface RealAgent {
  /** Folder in `packages/`. */
  package: string;
  family: string;
  driver: 'acp' | 'claude' | 'codex';
  /** Path of its program in the folder that it was installed to. */
  program: string;
  arguments: readonly string[];
  /** What an operator hands over to it by name. */
  environment: Readonly<Record<string, string>>;
  /** The permission mode that it is seen to be in inside a sandbox; `null`: it has none to read. */
  mode: string | null;
  /** It lost its conversation when its process ended: after a review a fresh one goes on, on the same branch. */
  forgets?: boolean;
  /** Whether it asks before it runs a command or changes a file; else our wall alone judges. */
  asksPermission: boolean;
  /** How its provider refuses an account that is used up, and what Chantier takes it for; left out where it is not shown. */
  limit?: { refusal: () => ProviderRefusal; reason: 'usage' | 'rate' };
  shell(command: string): ModelStep;
  /** Asks its user a question by a tool of its own that our client is asked through; left out where there is none. */
  question?(text: string, options: readonly [string, string]): ModelStep;
  /** Changes a file by the agent's own editing tool; `path` is relative to the work folder. */
  write(path: string, content: string): ModelStep;
}

type Words = Pick<RealAgent, 'shell' | 'write' | 'question'>;

const claudeWords: Words = {
  shell: (command) => ({ tool: 'Bash', input: { command, description: 'a step' } }),
  write: (path, content) => ({ tool: 'Write', input: { file_path: `{cwd}/${path}`, content } }),
  question: (question, labels) => ({
    tool: 'AskUserQuestion',
    input: {
      questions: [
        {
          question,
          header: 'Word',
          multiSelect: false,
          options: labels.map((label) => ({ label, description: `The word ${label}` })),
        },
      ],
    },
  }),
};

const overloaded: ProviderRefusal = {
  status: 529,
  body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};

const claudeRate: ProviderRefusal = {
  status: 429,
  body: { type: 'error', error: { type: 'rate_limit_error', message: 'This request would exceed your limit' } },
};

/** A window of a subscription is used up; it ends in an hour. */
function codexWindow(): ProviderRefusal {
  const error = {
    type: 'usage_limit_reached',
    message: 'The usage limit has been reached',
    plan_type: 'plus',
    resets_at: Math.floor(Date.now() / 1000) + 3600,
    resets_in_seconds: 3600,
  };
  return { status: 429, body: { error } };
}

const codexRate: ProviderRefusal = {
  status: 429,
  body: { error: { type: 'rate_limit_exceeded', code: 'rate_limit_exceeded', message: 'Rate limit reached' } },
};

const codexWords: Words = {
  shell: (command) => ({ tool: 'exec_command', input: { cmd: command } }),
  // It takes this command for its own editing tool; models that it does not know are offered no other.
  write: (path, content) => ({
    tool: 'exec_command',
    input: { cmd: `apply_patch <<'EOF'\n${addFile(path, content)}EOF` },
  }),
};

/** The agents of the specification's chapter "Real agents", at its versions. */
export const realAgents = {
  claude: {
    package: 'claude-agent-acp',
    family: 'claude',
    driver: 'acp',
    program: 'node_modules/.bin/claude-agent-acp',
    arguments: [],
    environment: { ANTHROPIC_API_KEY: 'dummy', ANTHROPIC_BASE_URL: model, CLAUDE_CODE_MAX_RETRIES: '1' },
    mode: 'default',
    limit: { refusal: () => claudeRate, reason: 'rate' },
    asksPermission: true,
    ...claudeWords,
  },
  codex: {
    package: 'codex-acp',
    family: 'codex',
    driver: 'acp',
    program: 'node_modules/.bin/codex-acp',
    arguments: [],
    environment: {
      OPENAI_API_KEY: 'dummy',
      // A name that it does not know: then plain functions are offered to the model.
      CODEX_CONFIG: JSON.stringify({ model: 'scripted', openai_base_url: `${model}/v1` }),
    },
    mode: 'agent-full-access',
    limit: { refusal: codexWindow, reason: 'usage' },
    asksPermission: false,
    ...codexWords,
  },
  gemini: {
    package: 'gemini-cli',
    family: 'gemini',
    driver: 'acp',
    program: 'node_modules/.bin/gemini',
    // Without a model its router asks another one first, and waits long for an answer that it understands.
    arguments: ['--acp', '-m', 'gemini-2.5-flash'],
    environment: { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: model },
    mode: 'default',
    // Version 0.61.0 removes the record of the conversation when it starts again to load it.
    forgets: true,
    asksPermission: true,
    shell: (command) => ({ tool: 'run_shell_command', input: { command } }),
    write: (path, content) => ({ tool: 'write_file', input: { file_path: `{cwd}/${path}`, content } }),
  },
  opencode: {
    package: 'opencode',
    family: 'opencode',
    driver: 'acp',
    program: 'node_modules/opencode-linux-x64/bin/opencode',
    arguments: ['acp'],
    environment: {
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'scripted/scripted',
        enabled_providers: ['scripted'],
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${model}/v1`, apiKey: 'dummy' },
            models: { scripted: { name: 'scripted' } },
          },
        },
      }),
    },
    mode: null,
    asksPermission: true,
    shell: (command) => ({ tool: 'bash', input: { command, description: 'a step' } }),
    write: (path, content) => ({ tool: 'write', input: { filePath: `{cwd}/${path}`, content } }),
  },
  copilot: {
    package: 'copilot',
    family: 'copilot',
    driver: 'acp',
    program: 'node_modules/.bin/copilot',
    arguments: ['--acp'],
    environment: {
      COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
      COPILOT_PROVIDER_API_KEY: 'dummy',
      COPILOT_MODEL: 'mock',
      COPILOT_OFFLINE: 'true',
    },
    mode: 'https://agentclientprotocol.com/protocol/session-modes#agent',
    asksPermission: true,
    shell: (command) => ({ tool: 'bash', input: { command, description: 'a step' } }),
    write: (path, content) => ({ tool: 'create', input: { path: `{cwd}/${path}`, file_text: content } }),
  },
  claudeHeadless: {
    package: 'claude-agent-acp',
    family: 'claude',
    driver: 'claude',
    program: `node_modules/@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
    arguments: [],
    environment: { ANTHROPIC_API_KEY: 'dummy', ANTHROPIC_BASE_URL: model, CLAUDE_CODE_MAX_RETRIES: '1' },
    mode: 'default',
    limit: { refusal: () => overloaded, reason: 'rate' },
    asksPermission: true,
    ...claudeWords,
  },
  codexExec: {
    package: 'codex-acp',
    family: 'codex',
    driver: 'codex',
    program: 'node_modules/.bin/codex',
    arguments: ['-c', 'model="scripted"', '-c', `openai_base_url="${model}/v1"`],
    environment: { CODEX_API_KEY: 'dummy' },
    mode: null,
    limit: { refusal: () => codexRate, reason: 'rate' },
    asksPermission: false,
    ...codexWords,
  },
} as const satisfies Record<string, RealAgent>;

function addFile(path: string, content: string): string {
  const lines = content.replaceAll(/^(?=.)/gm, '+');
  return `*** Begin Patch\n*** Add File: ${path}\n${lines}*** End Patch\n`;
}
