import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { chainHash, chainOn, genesisHash, type SequencedRow, type UnsequencedRow } from './events.ts';
import { verifyChain } from './verify-chain.ts';

function row(index: number): UnsequencedRow {
  return {
    id: `id-${index}`,
    at: 1000 + index,
    actor_kind: 'system',
    actor_id: 'test',
    kind: 'server.started',
    subject_kind: 'server',
    subject_id: `s${index % 3}`,
    project_id: null,
    session_id: index % 2 ? `session-${index}` : null,
    cause: null,
    facts: `{"n":${index}}`,
  };
}

const chain = (length: number): SequencedRow[] =>
  chainOn(
    { seq: 0, hash: genesisHash },
    Array.from({ length }, (_value, index) => row(index)),
  );

/** A forged event that links to `before` and has a hash that fits. */
function forgedAfter(before: SequencedRow | undefined, seq: number): SequencedRow {
  const prev_hash = before?.hash ?? genesisHash;
  const forged = { ...row(999), seq, prev_hash };
  return { ...forged, hash: chainHash(prev_hash, seq, forged) };
}

const renumbered = (rows: SequencedRow[]): SequencedRow[] => rows.map((one, index) => ({ ...one, seq: index + 1 }));

/** Length of the chain, a place in it (1 = first) that is not the last, and how many events. */
const places = fc.integer({ min: 3, max: 25 }).chain((length) =>
  fc.record({
    length: fc.constant(length),
    seq: fc.integer({ min: 1, max: length - 1 }),
    count: fc.integer({ min: 1, max: 4 }),
  }),
);

const check = (property: (place: { length: number; seq: number; count: number }) => Promise<void>): Promise<void> =>
  fc.assert(fc.asyncProperty(places, property), { numRuns: 40 });

describe('verifyChain', () => {
  it('accepts every chain as it was written, and an empty one', async () => {
    expect(await verifyChain([])).toEqual({ ok: true, count: 0, head: { seq: 0, hash: genesisHash } });
    await check(async ({ length }) => {
      expect(await verifyChain(chain(length))).toMatchObject({ ok: true, count: length });
    });
  });

  it('names the event whose content was changed', async () => {
    const fields = ['at', 'actor_id', 'kind', 'subject_id', 'session_id', 'cause', 'facts', 'id'] as const;
    await fc.assert(
      fc.asyncProperty(places, fc.constantFrom(...fields), async ({ length, seq }, field) => {
        const rows = chain(length);
        const old = rows[seq - 1] as SequencedRow;
        rows[seq - 1] = { ...old, [field]: field === 'at' ? old.at + 1 : `${old[field]}x` };
        expect(await verifyChain(rows)).toMatchObject({ ok: false, fault: 'changed', seq });
      }),
      { numRuns: 40 },
    );
  });

  it('names the event that was changed with its hash made anew', async () => {
    await check(async ({ length, seq }) => {
      const rows = chain(length);
      const forged = { ...(rows[seq - 1] as SequencedRow), facts: '{"n":-1}' };
      rows[seq - 1] = { ...forged, hash: chainHash(forged.prev_hash, seq, forged) };
      expect(await verifyChain(rows)).toMatchObject({ ok: false, fault: 'changed', seq, id: forged.id });
    });
  });

  it('names the number of the first event that was removed', async () => {
    await check(async ({ length, seq, count }) => {
      const rows = chain(length);
      rows.splice(seq - 1, Math.min(count, length - seq));
      expect(await verifyChain(rows)).toMatchObject({ ok: false, fault: 'removed', seq });
      expect(await verifyChain(renumbered(rows))).toMatchObject({ ok: false, fault: 'removed', seq });
    });
  });

  it('names the first event that was inserted, its hash made to fit or not', async () => {
    await check(async ({ length, seq, count }) => {
      const rows = chain(length);
      const inserted: SequencedRow[] = [];
      for (let index = 0; index < count; index++)
        inserted.push({ ...forgedAfter(inserted.at(-1) ?? rows[seq - 2], seq + index), id: `forged-${index}` });
      const fitting = inserted.reduce<SequencedRow[]>((done, one) => {
        const prev_hash = done.at(-1)?.hash ?? rows[seq - 2]?.hash ?? genesisHash;
        const linked = { ...one, prev_hash };
        return [...done, { ...linked, hash: chainHash(prev_hash, one.seq, linked) }];
      }, []);
      for (const block of [fitting, fitting.map((one) => ({ ...one, hash: 'a'.repeat(64) }))]) {
        const tampered = renumbered([...rows.slice(0, seq - 1), ...block, ...rows.slice(seq - 1)]);
        expect(await verifyChain(tampered)).toMatchObject({ ok: false, fault: 'inserted', seq, id: 'forged-0' });
      }
    });
  });

  it('names an event that was inserted under a number that is taken', async () => {
    await check(async ({ length, seq }) => {
      const rows = chain(length);
      rows.splice(seq, 0, { ...forgedAfter(rows[seq - 1], seq), id: 'forged' });
      expect(await verifyChain(rows)).toMatchObject({ ok: false, fault: 'inserted', seq, id: 'forged' });
    });
  });

  it('shows a cut end and a rewritten whole by an anchor only', async () => {
    await check(async ({ length, seq }) => {
      const rows = chain(length);
      const last = rows.at(-1) as SequencedRow;
      const anchors = [{ seq: last.seq, hash: last.hash }];
      expect(await verifyChain(rows, { anchors })).toMatchObject({ ok: true });
      const cut = rows.slice(0, seq);
      expect(await verifyChain(cut)).toMatchObject({ ok: true });
      expect(await verifyChain(cut, { anchors })).toMatchObject({ ok: false, fault: 'cut', seq: seq + 1 });
      const other = chainOn(
        { seq: 0, hash: genesisHash },
        Array.from({ length }, (_value, index) => ({ ...row(index), facts: '{}' })),
      );
      expect(await verifyChain(other, { anchors })).toMatchObject({ ok: false, fault: 'rewritten', seq: length });
    });
  });
});
