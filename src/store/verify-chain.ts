import { chainHash, genesisHash, type SequencedRow } from './events.ts';

/** A place and a hash that were written outside the store: what shows a cut end or a rewritten whole. */
export interface Anchor {
  seq: number;
  hash: string;
}

/** What a verification found: the head reached, or the first event that is not as it was written. */
export type ChainReport =
  | { ok: true; count: number; head: Anchor }
  | {
      ok: false;
      /** `cut`: events at the end are missing; `rewritten`: the chain holds but is not the anchored one. */
      fault: 'changed' | 'removed' | 'inserted' | 'cut' | 'rewritten';
      /** Place of the first event concerned, as it was before the tampering (`inserted`: where it stands now). */
      seq: number;
      /** Its id; undefined when the event is not there. */
      id: string | undefined;
      /** One sentence for a human. */
      message: string;
    };

/** How many numbers a gap or a block of foreign events may span and still be told apart from a change. */
const maxShift = 1000;

/**
 * Checks numbers, links and hashes of events in the order of `seq`, and says which was changed, removed or inserted first
 * (design 5). `anchors` are heads kept outside. `from` is where a part of the log starts (default: its beginning); its
 * hash must come from elsewhere, or be the first row's own `prev_hash` when only the inside of the part is in question.
 */
export async function verifyChain(
  events: Iterable<SequencedRow> | AsyncIterable<SequencedRow>,
  options: { anchors?: readonly Anchor[]; from?: Anchor } = {},
): Promise<ChainReport> {
  let head: Anchor = options.from ?? { seq: 0, hash: genesisHash };
  const anchors = new Map((options.anchors ?? []).map((anchor) => [anchor.seq, anchor.hash]));
  const seen: { hash: string; row: SequencedRow }[] = [];
  let count = 0;
  const window = createWindow(events);
  for (let row = await window.shift(); row; row = await window.shift()) {
    if (!follows(row, head)) return diagnose(row, head, seen, await window.ahead(maxShift));
    head = { seq: row.seq, hash: row.hash };
    const anchored = anchors.get(row.seq);
    if (anchored !== undefined && anchored !== row.hash) {
      return found('rewritten', row.seq, row, 'the log up to it is not the one that was anchored');
    }
    seen.push({ hash: row.hash, row });
    if (seen.length > maxShift) seen.shift();
    count += 1;
  }
  const last = Math.max(0, ...anchors.keys());
  if (last > head.seq)
    return found('cut', head.seq + 1, undefined, `the log was anchored at ${last} and ends at ${head.seq}`);
  return { ok: true, count, head };
}

function follows(row: SequencedRow, head: Anchor): boolean {
  return row.seq === head.seq + 1 && row.prev_hash === head.hash && isOriginalAt(row, row.seq, head.hash);
}

/** Whether the row's hash is the one that was made for it at this place. */
function isOriginalAt(row: SequencedRow, seq: number, previous: string): boolean {
  return chainHash(previous, seq, row) === row.hash;
}

/** `row` is the first that does not follow `head`; `seen` are the good ones before it, `next` some of those after it. */
function diagnose(
  row: SequencedRow,
  head: Anchor,
  seen: readonly { hash: string; row: SequencedRow }[],
  next: readonly SequencedRow[],
): ChainReport {
  const expected = head.seq + 1;
  if (isOriginalAt(row, row.seq, row.prev_hash)) return diagnoseUntouched(row, head, seen, next);
  for (let shift = 1; shift <= maxShift; shift++) {
    if (row.seq + shift > expected && isOriginalAt(row, row.seq + shift, row.prev_hash)) {
      return found('removed', expected, undefined, 'the events after it were numbered anew');
    }
    if (isOriginalAt(row, row.seq - shift, row.prev_hash)) return insertedBefore(row, shift, seen);
  }
  const origin = next.find((later) => isOriginalAt(later, expected, head.hash));
  if (origin) return found('inserted', row.seq, row, 'the event that belongs there stands behind it');
  return found('changed', expected, row, 'its content does not agree with its hash');
}

/** The row is as it was written at its own number: its neighbours are not. */
function diagnoseUntouched(
  row: SequencedRow,
  head: Anchor,
  seen: readonly { hash: string; row: SequencedRow }[],
  next: readonly SequencedRow[],
): ChainReport {
  const expected = head.seq + 1;
  if (row.seq > expected) return found('removed', expected, undefined, `the log goes from ${head.seq} to ${row.seq}`);
  if (row.seq < expected) return found('inserted', row.seq, row, 'its number is taken by another event');
  const restGoesOn = next[0] === undefined || next[0].prev_hash === row.hash;
  const before = seen.at(-1)?.row;
  if (restGoesOn && before)
    return found('changed', head.seq, before, 'its hash was made anew; the event after it still names the old one');
  return found('changed', expected, row, 'its hash was made anew, and does not link to the event before it');
}

/** `row` was written `shift` places earlier: so many foreign events stand before it. */
function insertedBefore(
  row: SequencedRow,
  shift: number,
  seen: readonly { hash: string; row: SequencedRow }[],
): ChainReport {
  const first = seen.at(-shift)?.row;
  return found('inserted', row.seq - shift, first, 'the events after it were numbered anew');
}

function found(
  fault: 'changed' | 'removed' | 'inserted' | 'cut' | 'rewritten',
  seq: number,
  row: SequencedRow | undefined,
  why: string,
): ChainReport {
  const name = row ? `Event ${seq} (${row.id})` : `Event ${seq}`;
  const verb = {
    changed: 'was changed',
    removed: 'was removed',
    inserted: 'was inserted',
    cut: 'is missing',
    rewritten: 'was rewritten',
  };
  return { ok: false, fault, seq, id: row?.id, message: `${name} ${verb[fault]}: ${why}.` };
}

/** Reads ahead in a stream of rows. */
function createWindow(events: Iterable<SequencedRow> | AsyncIterable<SequencedRow>): {
  shift(): Promise<SequencedRow | undefined>;
  ahead(count: number): Promise<readonly SequencedRow[]>;
} {
  const iterator = Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : events[Symbol.iterator]();
  const waiting: SequencedRow[] = [];
  const fill = async (count: number): Promise<void> => {
    while (waiting.length < count) {
      const step = await iterator.next();
      if (step.done) return;
      waiting.push(step.value);
    }
  };
  return {
    async shift() {
      if (waiting.length === 0) await fill(1);
      return waiting.shift();
    },
    async ahead(count) {
      await fill(count);
      return waiting;
    },
  };
}
