import { agentNameOf } from '../../sandbox/index.ts';
import type { AgentProfile } from './driver.ts';

/** A file of an agent's home, written before its program starts in a terminal. */
export interface FirstStartFile {
  /** Relative to the home. */
  path: string;
  /** From what is there already (`undefined`: nothing); gives `undefined` to leave it as it is. */
  content(before: string | undefined): string | undefined;
}

/** The name of the file by which Codex in a terminal hears what its adapter was told by variables. */
export const codexLayer = 'chantier-wheel';

/**
 * What an agent's own program would ask a human at its first start in a terminal, answered as data: theme, trust in the work
 * folder, the key that the session has anyway (design 7: a human comes to its conversation). The folder is trusted by
 * `holds` alone: what starts from it starts in the sandbox. Files as Claude Code 2.1.318 and Codex 0.171.0 read them.
 */
export function firstStartFiles(
  profile: Pick<AgentProfile, 'command' | 'driver'>,
  place: { folder: string; env: Readonly<Record<string, string>>; holds: boolean },
): FirstStartFile[] {
  switch (profile.driver === 'acp' ? agentNameOf(profile.command) : profile.driver) {
    case 'claude-agent-acp':
    case 'claude':
      return [{ path: '.claude/.claude.json', content: (before) => claudeState(before, place) }];
    case 'codex-acp':
      return [codexLogIn(place.env), ...codexSettings(place.env)];
    case 'codex':
      return [codexLogIn(place.env)];
    default:
      return [];
  }
}

function claudeState(
  before: string | undefined,
  { folder, env, holds }: { folder: string; env: Readonly<Record<string, string>>; holds: boolean },
): string | undefined {
  const state = before === undefined ? {} : fieldsOf(parse(before));
  if (!state) return undefined;
  const projects = fieldsOf(state.projects) ?? {};
  const keys = fieldsOf(state.customApiKeyResponses) ?? {};
  const key = env.ANTHROPIC_API_KEY;
  const approved = Array.isArray(keys.approved) ? keys.approved : [];
  return JSON.stringify({
    theme: 'dark',
    ...state,
    hasCompletedOnboarding: true,
    ...(holds
      ? { projects: { ...projects, [folder]: { ...fieldsOf(projects[folder]), hasTrustDialogAccepted: true } } }
      : {}),
    // It knows a key that was said yes to by its end.
    ...(key ? { customApiKeyResponses: { rejected: [], ...keys, approved: [...approved, key.slice(-20)] } } : {}),
  });
}

/** `codex exec` takes a key from its environment, the program in a terminal from this file alone. */
function codexLogIn(env: Readonly<Record<string, string>>): FirstStartFile {
  const key = env.CODEX_API_KEY ?? env.OPENAI_API_KEY;
  return {
    path: '.codex/auth.json',
    content: (before) =>
      before === undefined && key ? JSON.stringify({ auth_mode: 'apikey', OPENAI_API_KEY: key }) : undefined,
  };
}

/** The adapter hands these settings over with each conversation; it was told of them by variables, which Codex does not know. */
function codexSettings(env: Readonly<Record<string, string>>): FirstStartFile[] {
  const settings = fieldsOf(parse(env.CODEX_CONFIG ?? '{}')) ?? {};
  const provider = env.MODEL_PROVIDER ? { model_provider: env.MODEL_PROVIDER } : {};
  const lines = Object.entries({ ...settings, ...provider }).flatMap(([name, value]) =>
    value === null ? [] : [`${JSON.stringify(name)} = ${toml(value)}\n`],
  );
  return lines.length === 0 ? [] : [{ path: `.codex/${codexLayer}.config.toml`, content: () => lines.join('') }];
}

/** A JSON value as TOML writes it in one line. */
function toml(value: unknown): string {
  if (Array.isArray(value))
    return `[${value
      .filter((one) => one !== null)
      .map(toml)
      .join(', ')}]`;
  const fields = fieldsOf(value);
  if (!fields) return JSON.stringify(value).replaceAll('\u007F', '\\u007f');
  const parts = Object.entries(fields).filter(([, one]) => one !== null);
  return `{ ${parts.map(([name, one]) => `${JSON.stringify(name)} = ${toml(one)}`).join(', ')} }`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what is no JSON holds no settings
  }
}

function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}
