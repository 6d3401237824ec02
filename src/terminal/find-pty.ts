import { createRequire } from 'node:module';
import { dirname } from 'node:path';

import { defaultSize } from './frames.ts';

/** What to do where the native part is not there. */
export const ptyMissingCure =
  'Reinstall without --omit=optional, on a platform that it is built for (Linux and macOS, x64 and arm64); everything else works without it.';

/** The native part, an optional package of its own (ADR 0030). */
export type FoundPty =
  | {
      found: true;
      /** File to load. */
      module: string;
      /** Folders that it needs, absolute. */
      folders: string[];
    }
  /** `why` is one sentence. */
  | { found: false; why: string };

/** Looks for `@lydell/node-pty` and its binary for this platform beside this package; loads nothing. */
export function findPty(): FoundPty {
  const binary = `@lydell/node-pty-${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let module: string;
  try {
    module = require.resolve('@lydell/node-pty');
  } catch {
    return { found: false, why: 'The optional package @lydell/node-pty is not installed.' };
  }
  try {
    const native = createRequire(module).resolve(`${binary}/pty.node`);
    return { found: true, module, folders: [dirname(module), dirname(native)] };
  } catch {
    return { found: false, why: `@lydell/node-pty is there, but not its binary for this platform, ${binary}.` };
  }
}

/** The words between the host's program and the words of the program that it is to run. */
export function ptyHostArguments(module: string): string[] {
  return [module, String(defaultSize.cols), String(defaultSize.rows), '--'];
}
