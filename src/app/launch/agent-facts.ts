import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { type AgentNeeds, agentNeeds, readLogIn } from '../../sandbox/index.ts';
import type { Schema } from '../../store/index.ts';
import { accountOf, programOf } from './account-of.ts';

/** What is known of an agent without starting it: design section 7, "Provider limits and accounts". */
export interface AgentFacts {
  /** Absolute path of its program; null: it is not there any more. */
  binary: string | null;
  version: string | null;
  account: string;
  /** In words, for a human: who is logged in, or which key was handed over. */
  loggedIn: string | null;
  billed: string | null;
  /** What to run or to do when it cannot work as it is. */
  cure: string | null;
}

type AgentRow = Parameters<typeof accountOf>[0];

/** Reads the facts from the program's own files; nothing is executed and no model is called. */
export function readAgentFacts(agent: AgentRow, operatorHome: string, env: NodeJS.ProcessEnv): AgentFacts {
  const [path = ''] = JSON.parse(agent.command) as string[];
  const isThere = existsSync(path);
  const program = programOf(agent);
  const needs: AgentNeeds | undefined = program === undefined ? undefined : agentNeeds[program];
  const account = accountOf(agent, env);
  const facts = {
    binary: isThere ? path : null,
    version: isThere ? versionOf(agent) : null,
    account,
    loggedIn: null,
    billed: null,
    cure: isThere ? null : `Install ${path} again, or register the agent anew.`,
  };
  const handed = needs?.keyNames.find((name) => (JSON.parse(agent.env_names) as string[]).includes(name));
  if (handed !== undefined && env[handed] !== undefined)
    return { ...facts, loggedIn: `by the key ${handed}`, billed: 'API key, by use' };
  if (program === undefined) return facts;
  const logIn = readLogIn(program, operatorHome);
  if (!logIn)
    return {
      ...facts,
      loggedIn: 'nobody',
      cure: facts.cure ?? `Not logged in: run ${agentNeeds[program].logIn}${keyHint(needs, handed)}.`,
    };
  return { ...facts, loggedIn: logIn.as ?? 'an account that its files do not name', billed: logIn.billed };
}

/** The facts as one line. */
export function describeAgentFacts(agent: Pick<Schema['agent'], 'family'>, facts: AgentFacts): string {
  return [
    facts.binary === null ? 'its program is gone' : `${facts.binary} ${facts.version ?? '(version unknown)'}`,
    `family ${agent.family}`,
    facts.loggedIn === null ? 'log-in unknown' : `logged in: ${facts.loggedIn}`,
    ...(facts.billed === null ? [] : [`billed: ${facts.billed}`]),
    `account ${facts.account}`,
  ].join(', ');
}

function keyHint(needs: AgentNeeds | undefined, handed: string | undefined): string {
  if (handed !== undefined) return `, or set ${handed} where the server is started`;
  return needs === undefined ? '' : `, or hand over ${needs.keyNames.join(' or ')} with \`--env\``;
}

/** Programs that run another one: their own version says nothing about the agent. */
const runnerPattern = /^(?:node|nodejs|bun|deno|tsx|npx|uvx?|python[\d.]*|pypy[\d.]*|ruby|perl|env|sh|bash|dash|zsh)$/;

/**
 * The version that the package around the agent's file says, or that its own path names; with a runner (`node /x/agent.js`) that
 * of the script and never the runner's, so none for a script that belongs to no package.
 */
function versionOf(agent: Pick<AgentRow, 'command'>): string | null {
  const [program = '', ...words] = JSON.parse(agent.command) as string[];
  const isFile = (word: string): boolean =>
    word.startsWith('/') && lstatSync(word, { throwIfNoEntry: false }) !== undefined && existsSync(word);
  if (runnerPattern.test(basename(program))) {
    const script = words.find(isFile);
    return script === undefined ? null : versionOfScript(realpathSync(script));
  }
  const file = realpathSync([program, ...words].findLast(isFile) ?? '/');
  const named = /\/(?:versions?|releases?)\/v?(\d+\.\d+[\w.-]{0,30})(?:\/|$)/.exec(file)?.[1];
  return named ?? packageVersionAbove(dirname(file));
}

/** That of the installed package it lies in, or of the package that names this very file as its program. */
function versionOfScript(file: string): string | null {
  const installed = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
  if (installed !== undefined) return packageVersionAbove(installed);
  return packageVersionAbove(dirname(file), (manifest, folder) => {
    const bin =
      typeof manifest.bin === 'object' && manifest.bin !== null ? Object.values(manifest.bin) : [manifest.bin];
    return [...bin, manifest.main].some((named) => typeof named === 'string' && resolve(folder, named) === file);
  });
}

function packageVersionAbove(
  folder: string,
  isOwner: (manifest: Record<string, unknown>, folder: string) => boolean = () => true,
): string | null {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const path = join(at, 'package.json');
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (!found?.isFile() || found.size > 1024 ** 2) continue;
    try {
      const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
      const { version } = manifest;
      if (!isOwner(manifest, at)) return null;
      if (typeof version === 'string' && /^\d[\w.+-]{0,40}$/.test(version)) return version;
    } catch {
      return null;
    }
  }
  return null;
}
