import { randomUUID } from 'node:crypto';

import type { Command } from 'commander';

import { type InstancePaths, operatorSocketOf } from '../config/index.ts';
import { idempotencyKeyPattern } from '../kernel/index.ts';
import type { ProofView } from '../wire/index.ts';
import { mayAutostart, startDetached } from './autostart.ts';
import { type Address, type ApiRequest, type Client, createClient, isUnreachable } from './client.ts';
import type { CliIo } from './io.ts';
import { readOperatorToken } from './operator-token.ts';
import { CommandFailure, failWith, type Outcome } from './outcome.ts';
import { askPassphrase, readPassphraseFrom } from './passphrase.ts';
import { readUnlock, unlockFileOf } from './unlock-file.ts';

/** Options that every command may have been given. */
export interface CommonOptions {
  json?: boolean;
  idempotencyKey?: string;
  /** Says the idempotency key that was made. */
  verbose?: boolean;
  passphraseFd?: string;
  operator?: string;
}

/** What commands work with. */
export interface CliContext {
  io: CliIo;
  paths: InstancePaths;
  /** Registers what a command does; its outcome is printed and becomes the exit code. */
  action(
    command: Command,
    run: (input: { args: string[]; options: CommonOptions & Record<string, unknown> }) => Promise<Outcome>,
  ): void;
  /** A client without starting anything. */
  client(): Client;
  /** Reads; starts the server when none runs. */
  get<T>(path: string, query?: ApiRequest['query']): Promise<T>;
  /** Changes something with the CLI's own right; starts the server when none runs. */
  change<T>(method: string, path: string, body: unknown, options: CommonOptions): Promise<T>;
  /** Decides: as `change`, with the proof of a human. */
  decide<T>(method: string, path: string, body: unknown, options: CommonOptions & { fresh?: boolean }): Promise<T>;
  /** As `change`; where the server says that this one needs a human's proof, once more with it. */
  changeOrDecide<T>(method: string, path: string, body: unknown, options: CommonOptions): Promise<T>;
  /** Starts the server unless one answers. */
  ensureServer(): Promise<void>;
  /** The passphrase: from the descriptor, else asked at the terminal; read once for the command. Throws exit 9 without either. */
  passphrase(options: CommonOptions, question?: string): Promise<string>;
  /** An argument, or stdin where it is `-`. */
  textOf(argument: string): Promise<string>;
}

/** Builds the context of one invocation; `report` gets the outcome of the command that ran. */
export function createContext(io: CliIo, paths: InstancePaths, report: (outcome: Outcome) => void): CliContext {
  let given: string | undefined;
  let made: Client | undefined;

  const client = (): Client => (made ??= createClient(addressOf(io, paths), tokenOf(io, paths)));

  const ensureServer = async (): Promise<void> => {
    try {
      await client().send('GET', '/healthz', { timeoutMs: 10_000 });
    } catch (error) {
      await startIfAway(error);
    }
  };

  const startIfAway = async (error: unknown): Promise<void> => {
    if (!isUnreachable(error) || io.env.CHANTIER_URL !== undefined || !(await mayAutostart(paths, io.env))) throw error;
    const { pid } = await startDetached({ paths, env: io.env });
    io.err(`Started the server (pid ${pid ?? '?'}); "chantier down" ends it.\n`);
    made = undefined;
  };

  const send = async <T>(method: string, path: string, request: ApiRequest): Promise<T> => {
    const options = { ...request, signal: io.signal };
    try {
      return await client().send<T>(method, path, options);
    } catch (error) {
      sayKeyIfUnknown(error, request.key);
      await startIfAway(error);
      return client().send<T>(method, path, options);
    }
  };

  /** Nobody knows whether it was done: only now does the key matter, since with it a repetition cannot do it twice. */
  const sayKeyIfUnknown = (error: unknown, key: string | undefined): void => {
    if (key === undefined || !(error instanceof CommandFailure) || error.problem.code !== 'connection_lost') return;
    io.err(`It may have been done or not. Again, at most once: the same command with --idempotency-key ${key}\n`);
  };

  const passphrase = async (options: CommonOptions, question = 'Passphrase: '): Promise<string> => {
    if (given !== undefined) return given;
    if (options.passphraseFd !== undefined) return (given = readPassphraseFrom(options.passphraseFd));
    if (!io.hasTerminal()) {
      throw failWith(
        'proof-required',
        'no_proof',
        'Only a human decides this: run it at a terminal, give --passphrase-fd N, or open the terminal with "chantier unlock".',
      );
    }
    return (given = await askPassphrase(question, io.err));
  };

  const proofOf = async (options: CommonOptions): Promise<string> => {
    const body = { passphrase: await passphrase(options), ...(options.operator ? { operator: options.operator } : {}) };
    return (await send<ProofView>('POST', '/api/proofs', { body })).proof;
  };

  const keyOf = (options: CommonOptions): string => {
    const key = options.idempotencyKey ?? randomUUID();
    if (!idempotencyKeyPattern.test(key)) {
      throw failWith(
        'invalid',
        'idempotency_key_malformed',
        'An idempotency key has 1 to 128 letters, digits, dots, colons, dashes or underscores.',
      );
    }
    if (options.verbose === true && options.idempotencyKey === undefined) io.err(`Idempotency key: ${key}\n`);
    return key;
  };

  const decide = async <T>(
    method: string,
    path: string,
    body: unknown,
    options: CommonOptions & { fresh?: boolean },
    key: string,
  ): Promise<T> => {
    const unlocked = options.fresh ? undefined : readUnlock(unlockFileOf(paths.home, io.env));
    const canProve = options.passphraseFd !== undefined || io.hasTerminal();
    // Without any proof the request still goes out: the server refuses it and keeps an event of the try.
    const proof = unlocked ?? (canProve ? await proofOf(options) : undefined);
    try {
      return await send<T>(method, path, { body, key, ...(proof === undefined ? {} : { proof }) });
    } catch (error) {
      if (!needsOtherProof(error) || unlocked === undefined || !canProve) throw error;
      return send<T>(method, path, { body, key, proof: await proofOf(options) });
    }
  };

  return {
    io,
    paths,
    client,
    ensureServer,
    passphrase,
    action(command, run) {
      command.action(async (...all: unknown[]) => {
        // Commander hands over the arguments, then the options, then the command.
        const args = all.slice(0, -2).flatMap((value) => (value === undefined ? [] : value)) as string[];
        report(await run({ args, options: command.optsWithGlobals() }));
      });
    },
    get: (path, query) => send('GET', path, query ? { query } : {}),
    change: (method, path, body, options) => send(method, path, { body, key: keyOf(options) }),
    decide: (method, path, body, options) => decide(method, path, body, options, keyOf(options)),
    async changeOrDecide<T>(method: string, path: string, body: unknown, options: CommonOptions): Promise<T> {
      const key = keyOf(options);
      try {
        return await send<T>(method, path, { body, key });
      } catch (error) {
        if (!needsOtherProof(error)) throw error;
        return decide<T>(method, path, body, options, key);
      }
    },
    textOf: async (argument) => (argument === '-' ? (await io.readStdin()).replace(/\r?\n$/, '') : argument),
  };
}

function needsOtherProof(error: unknown): boolean {
  return (
    error instanceof CommandFailure &&
    ['proof_required', 'fresh_proof_required', 'proof_not_accepted', 'proof_spent'].includes(error.problem.code)
  );
}

function addressOf(io: CliIo, paths: InstancePaths): Address {
  const url = io.env.CHANTIER_URL;
  if (url === undefined || url === '') {
    // Inside an agent's session the only door is the bridge, and what the server says there is no.
    const bridge = io.env.CHANTIER_RUN === undefined ? undefined : io.env.CHANTIER_SOCKET;
    return { socket: bridge ?? operatorSocketOf(paths.home) ?? paths.socket };
  }
  if (url.startsWith('unix:')) return { socket: url.slice('unix:'.length) };
  if (url.startsWith('http://')) return { url };
  throw failWith('invalid', 'bad_url', 'CHANTIER_URL has to be http://127.0.0.1:PORT or unix:/path/to/socket.');
}

function tokenOf(io: CliIo, paths: InstancePaths): string | undefined {
  return io.env.CHANTIER_TOKEN || readOperatorToken(paths.operatorToken);
}
