import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { createHash } from 'node:crypto';

import { digestOf, sha256 } from '../kernel/index.ts';
import type { GateCall, PreparedCall } from './call.ts';
import { commandOf, folderOf, pathsOf } from './call-facts.ts';
import { judgeParts } from './judge-parts.ts';
import { placesOf } from './places.ts';
import type { GatePolicy } from './policy.ts';
import { canonicalText, previewOf } from './preview.ts';
import { redactSecrets } from './redact.ts';

/** Longer arguments are not kept; their digest is. */
const maxKeptArguments = 256 * 1024;

/**
 * All that is judged before the transaction: the parts of the call under the policy, its digests and its preview. Reads the
 * disk (symbolic links, files that a waiting command would run), so it is called outside of `store.tx`.
 */
export function prepareCall(call: GateCall, policy: GatePolicy): PreparedCall {
  const requirements = judgeParts(call, policy);
  const given = call.rawInput === undefined ? call.tool.title : call.rawInput;
  const argumentsText = canonicalText(given);
  const files = requirements.some((part) => part.effect === 'ask') ? operandDigests(call) : [];
  return {
    call,
    requirements,
    policyVersion: policy.version,
    phase: policy.phase,
    argumentsDigest: sha256(argumentsText),
    contextDigest: digestOf({
      session: call.sessionId,
      agent: call.agent,
      role: call.role,
      server: call.server?.identity ?? '',
      tool: call.tool.name ?? '',
      kind: call.tool.kind,
      arguments: sha256(argumentsText),
      locations: call.locations.map((path) => path.toWellFormed()),
      folder: folderOf(call).toWellFormed(),
      sandbox: call.sandboxHolds,
      policy: policy.version,
      files,
    }),
    preview: previewOf(call.rawInput, call.tool.title),
    ...(call.rawInput === undefined || argumentsText.length > maxKeptArguments
      ? {}
      : { maskedArguments: redactSecrets(argumentsText).text }),
  };
}

const maxOperands = 32;
const maxOperandBytes = 16 * 1024 * 1024;

/** Digests of the files that the words of a call name, so that a script changed after the yes is another call (field case 31). */
function operandDigests(call: GateCall): { path: string; digest: string }[] {
  const places = placesOf({ ...call, cwd: folderOf(call) });
  const command = commandOf(call);
  const words = command?.isUnderstood ? command.commands.flatMap((one) => one.words.map((word) => word.text)) : [];
  const paths = new Set(
    [...words, ...pathsOf(call)].filter((word) => word !== '' && !word.startsWith('-') && word.length < 1000),
  );
  const found: { path: string; digest: string }[] = [];
  for (const path of [...paths].slice(0, 500)) {
    const [absolute] = places.absolutes(path);
    const digest = absolute === undefined ? undefined : digestFile(absolute);
    if (digest !== undefined) found.push({ path: path.toWellFormed(), digest });
    if (found.length >= maxOperands) break;
  }
  return found;
}

/** SHA-256 of a regular file, without following a link and without waiting; `undefined` for anything else. */
function digestFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    const status = fstatSync(file);
    if (!status.isFile()) return undefined;
    if (status.size > maxOperandBytes) return `size ${status.size} changed ${status.mtimeMs}`;
    const hash = createHash('sha256');
    const buffer = Buffer.alloc(64 * 1024);
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer))
      hash.update(buffer.subarray(0, read));
    return hash.digest('hex');
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}
