import { existsSync } from 'node:fs';

import { toRfc3339 } from '../../kernel/index.ts';
import {
  generationFolder,
  type JournalHit,
  type JournalSearch,
  type SessionRow,
  type TextHit,
} from '../../sessions/index.ts';
import type { SearchGap, SearchHit } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';

/** Lines of the journal that the command shows. */
const shownLines = 40;

/** A text of the store; the command shows what the session did from then on. */
export function textHit(ctx: Pick<AppContext, 'paths'>, session: SessionRow, hit: TextHit): SearchHit {
  const { kind, excerpt } = hit;
  const at = toRfc3339(hit.at);
  const generation = hit.generation ?? Math.max(1, session.generation);
  const isKept = existsSync(generationFolder(ctx.paths.sessions, session.id, generation));
  const command = `chantier logs ${session.id} --generation ${generation} --since ${at}`;
  return { kind, ...nameOf(session, hit.generation), at, excerpt, offset: null, command: isKept ? command : null };
}

/** A text of a transcript. */
export function journalHit(session: SessionRow, generation: number, hit: JournalHit): SearchHit {
  const { kind, excerpt, start: offset } = hit;
  const at = hit.at === null ? null : toRfc3339(hit.at);
  const command = `chantier logs ${session.id} --generation ${generation} --after ${offset} --limit ${shownLines}`;
  return { kind, ...nameOf(session, generation), at, excerpt, offset, command };
}

/** What of a journal could not be looked at. */
export function journalGaps(session: SessionRow, generation: number, { tooLong, freed }: JournalSearch): SearchGap[] {
  const gap = { ...nameOf(session, generation), generation };
  const gaps: SearchGap[] = [];
  if (freed > 0) {
    const message = `${freed} bytes of old output were freed (sessions.journalKeep).`;
    gaps.push({ ...gap, reason: 'freed', bytes: freed, message });
  }
  if (tooLong > 0) {
    const message = `${tooLong} bytes stand in lines longer than 1 MiB; chantier logs does not show them either.`;
    gaps.push({ ...gap, reason: 'too-long', bytes: tooLong, message });
  }
  return gaps;
}

/** The retention took the transcript. */
export function removed(session: SessionRow, generation: number): SearchGap {
  const message = 'The transcript was removed when its work was over (retention.journals).';
  return { ...nameOf(session, generation), generation, reason: 'removed', bytes: null, message };
}

/** The transcript lies on another machine. */
export function otherNode(session: SessionRow): SearchGap {
  const { generation } = session;
  const message = `The transcript lies on node ${session.node_id}; search there.`;
  return { ...nameOf(session, generation), generation, reason: 'other-node', bytes: null, message };
}

function nameOf<G>(session: SessionRow, generation: G): { sessionId: string; workKey: string; generation: G } {
  return { sessionId: session.id, workKey: session.work_key, generation };
}
