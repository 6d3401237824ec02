import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type AgentNeeds, agentNeeds, type AgentProgram } from './agents.ts';

/** Who is logged in at an agent program and who pays, as its own files say; never a token. */
export interface LogIn {
  /** E-mail address or name of the account; null: the files do not say. */
  as: string | null;
  /** In words: `Claude max plan`, `API key, by use`. */
  billed: string;
}

type Fields = Record<string, unknown>;
const maxBytes = 1024 ** 2;

/**
 * Reads who is logged in at `program`, from the files that it keeps in the operator's home and without asking anybody;
 * `undefined`: nobody. Only named fields of a plausible form are taken over: agents can write some of these files.
 */
export function readLogIn(program: AgentProgram, operatorHome: string): LogIn | undefined {
  const needs: AgentNeeds = agentNeeds[program];
  const folder = join(operatorHome, needs.credentialFolder);
  const stored = readJson(join(folder, needs.credentialFile));
  return stored && readers[program](stored, (name) => readJson(join(folder, name)) ?? {});
}

const readers: Record<AgentProgram, (stored: Fields, beside: (name: string) => Fields) => LogIn | undefined> = {
  'claude-code': (stored, beside) => {
    const oauth = fieldsOf(stored.claudeAiOauth);
    if (typeof oauth.accessToken !== 'string') return undefined;
    const account = fieldsOf(beside('../.claude.json').oauthAccount);
    const plan = wordOf(oauth.subscriptionType);
    return { as: mailOf(account.emailAddress), billed: plan === null ? 'Claude account' : `Claude ${plan} plan` };
  },
  codex: (stored) => {
    const tokens = fieldsOf(stored.tokens);
    if (typeof tokens.id_token !== 'string' && typeof tokens.access_token !== 'string')
      return typeof stored.OPENAI_API_KEY === 'string' ? { as: null, billed: 'OpenAI API key, by use' } : undefined;
    const claims = claimsOf(tokens.id_token);
    const plan = wordOf(fieldsOf(claims['https://api.openai.com/auth']).chatgpt_plan_type);
    return { as: mailOf(claims.email), billed: plan === null ? 'ChatGPT account' : `ChatGPT ${plan} plan` };
  },
  'gemini-cli': (stored, beside) => {
    if (typeof stored.refresh_token !== 'string' && typeof stored.access_token !== 'string') return undefined;
    const as = mailOf(beside('google_accounts.json').active) ?? mailOf(claimsOf(stored.id_token).email);
    return { as, billed: 'Google account (its free tier or Code Assist licence)' };
  },
  opencode: (stored) => {
    const providers = Object.entries(stored).flatMap(([name, entry]) => {
      const kind = { oauth: 'log-in', api: 'API key', wellknown: 'log-in' }[String(fieldsOf(entry).type)];
      return kind === undefined || wordOf(name) === null ? [] : [`${name} (${kind})`];
    });
    return providers.length === 0 ? undefined : { as: null, billed: providers.slice(0, 8).join(', ') };
  },
  copilot: (stored) => {
    const last = fieldsOf(stored.last_logged_in_user ?? stored.lastLoggedInUser);
    const users = stored.logged_in_users ?? stored.loggedInUsers;
    const login = wordOf(last.login) ?? wordOf(Array.isArray(users) ? fieldsOf(users[0]).login : undefined);
    return login === null ? undefined : { as: login, billed: `GitHub Copilot of ${login}` };
  },
};

/** A JSON object in a plain file of at most 1 MiB; links are not followed. */
function readJson(path: string): Fields | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const status = fstatSync(file);
    if (!status.isFile() || status.size > maxBytes) return undefined;
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** What a JSON web token says of its owner; it is shown, never relied on, so its signature does not matter. */
function claimsOf(token: unknown): Fields {
  const body = typeof token === 'string' ? token.split('.')[1] : undefined;
  try {
    return fieldsOf(JSON.parse(Buffer.from(body ?? '', 'base64url').toString('utf8')));
  } catch {
    return {};
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function mailOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\w.%+-]{1,64}@[a-z0-9.-]{1,190}$/i.test(value) ? value : null;
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && /^[a-z0-9][\w.-]{0,38}$/i.test(value) ? value : null;
}
