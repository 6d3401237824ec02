import { join } from 'node:path';

import type { ProcessIdentity } from './process-identity.ts';

/** The marker's value for one generation: `<session>/<generation>`. Put it into the sandbox profile's environment too. */
export function runMarker(sessionId: string, generation: number): string {
  return `${sessionId}/${generation}`;
}

/** Every file of one generation's folder (design section 7). */
export interface GenerationFiles {
  folder: string;
  /** Written once by the server before the wrapper starts: run, start time. */
  birth: string;
  /** The wrapper's script, kept for whoever has to understand an old generation. */
  script: string;
  /** What the server says to the agent, append-only. */
  inbox: string;
  /** The frame that is being appended to `inbox`, so that a torn one can be completed. */
  inboxNext: string;
  /** What the agent says, append-only; the journal. */
  journal: string;
  /** Identities of wrapper, agent and their companions; appears by rename before the agent is executed. */
  pid: string;
  /** Exit status of the agent; appears by rename. */
  exit: string;
  /** The latch of an ordered stop; what the journal says after it does not count (decision 5). */
  stop: string;
  /** How far the journal had come at which time. */
  marks: string;
  /** Which parts of the journal were freed; appears by rename. */
  freed: string;
  /** Three rotating parts of the stderr ring. */
  stderr: readonly string[];
}

/** The paths inside `folder`. */
export function filesOf(folder: string): GenerationFiles {
  return {
    folder,
    birth: join(folder, 'birth.json'),
    script: join(folder, 'wrapper.sh'),
    inbox: join(folder, 'in.ndjson'),
    inboxNext: join(folder, 'in.next'),
    journal: join(folder, 'out.ndjson'),
    pid: join(folder, 'pid'),
    exit: join(folder, 'exit'),
    stop: join(folder, 'stop'),
    marks: join(folder, 'marks'),
    freed: join(folder, 'freed.json'),
    stderr: [0, 1, 2].map((part) => join(folder, `err.${part}`)),
  };
}

/** The form of generation folders that this program makes, and the newest that it understands. */
export const generationVersion = 1;

/** Content of `birth.json`. */
export interface BirthRecord {
  version: number;
  run: string;
  startedAtMs: number;
}

/** Content of `pid`. */
export interface ProcessRecord {
  version: number;
  /** The machine's boot; identities of another boot are dead. */
  bootId: string;
  /** The `/bin/sh` that owns the agent; leader of the session and process group of all of them. */
  wrapper: ProcessIdentity;
  /** The outermost process of the agent: itself, or the sandbox around it. */
  agent: ProcessIdentity;
  /** `tail`, which feeds `in.ndjson` to the agent; ending it closes the agent's stdin. */
  feeder: ProcessIdentity;
  /** `cat`, which appends the agent's stdout to the journal. */
  appender: ProcessIdentity;
  /** The shell that keeps the stderr ring. */
  ring: ProcessIdentity;
}

/** Content of `exit`. A code above 128 may be a signal (code - 128) or a code of the program's own: exit codes prove nothing. */
export interface ExitRecord {
  code: number;
}

/** Content of `stop`. */
export interface LatchRecord {
  at: number;
  /** Size of the journal when the latch fell: frames that start at or after it are ignored. */
  journalOffset: number;
}
