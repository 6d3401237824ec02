/**
 * The server of an instance as `chantier up --serve` composes it, with rules of the wall that send the name of a model to the
 * scripted one: MODEL_RULES holds them as JSON. It takes its place in the process list and ends as that one does.
 */
import { once } from 'node:events';

import { pathsOf } from '../../src/config/index.ts';
import { serve } from '../../src/main.ts';
import type { WallRule } from '../../src/sandbox/index.ts';
import { acquireInstanceLock } from '../../src/store/index.ts';

process.umask(0o077);
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort(signal));

const paths = pathsOf(process.env.CHANTIER_HOME);
const lock = acquireInstanceLock(paths);
if (!lock.held) throw new Error(`${paths.home} is held by another server`);
const rules = JSON.parse(process.env.MODEL_RULES ?? '[]') as WallRule[];
const served = await serve({ paths, lock, env: process.env, rules });
await Promise.race([once(interrupt.signal, 'abort'), served.ended]);
await served.stop();
lock.release();
