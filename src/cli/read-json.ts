import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import type { CliIo } from './io.ts';
import { failWith } from './outcome.ts';

/** Reads a JSON object from a file, or from stdin for `-`. Throws exit 2 with the place of a mistake. */
export async function readJsonArgument(file: string, io: CliIo): Promise<Record<string, unknown>> {
  const name = file === '-' ? 'stdin' : file;
  let text: string;
  try {
    text = file === '-' ? await io.readStdin() : readFileSync(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw failWith('invalid', 'unreadable_file', `Cannot read ${name}: ${(error as Error).message}.`);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw failWith('invalid', 'not_json', `${name} is not JSON: ${(error as Error).message}.`);
  }
  throw failWith('invalid', 'not_json', `${name} has to hold one JSON object.`);
}
