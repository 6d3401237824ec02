import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { AgentProfile, McpServerSpec } from '../drivers/index.ts';

/** What is needed to take hold of a generation's agent again after a restart. */
export interface LaunchRecord {
  profile: AgentProfile;
  cwd: string;
  mcpServers: readonly McpServerSpec[];
  conversationId: string | null;
}

/** Where it lies: beside the generation's folder, whose making is the key of the launch. */
function recordPath(sessionsFolder: string, sessionId: string, generation: number): string {
  return join(sessionsFolder, sessionId, `launch-${generation}.json`);
}

/** A private folder for the sandbox's files of one generation. */
export async function makeStateFolder(sessionsFolder: string, sessionId: string, generation: number): Promise<string> {
  const folder = join(sessionsFolder, sessionId, `state-${generation}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** Written by rename before the process starts. Holds the environment of MCP servers, so it is private and goes with the process. */
export async function writeLaunchRecord(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
  record: LaunchRecord,
): Promise<void> {
  const path = recordPath(sessionsFolder, sessionId, generation);
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

export async function readLaunchRecord(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
): Promise<LaunchRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordPath(sessionsFolder, sessionId, generation), 'utf8')) as LaunchRecord;
  } catch {
    return undefined;
  }
}

/** Removes the record and the sandbox's files once the process is gone. */
export async function removeLaunchFiles(sessionsFolder: string, sessionId: string, generation: number): Promise<void> {
  await rm(recordPath(sessionsFolder, sessionId, generation), { force: true });
  await rm(join(sessionsFolder, sessionId, `state-${generation}`), { recursive: true, force: true });
}
