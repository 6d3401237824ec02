import { createReadStream, createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

import type { Command } from 'commander';

import type { AuditVerdict } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { failWith, type Outcome } from '../outcome.ts';

export function define(command: Command, context: CliContext): void {
  const verify = command
    .command('verify')
    .description('Verify the chain of events, of the store or of an export alone')
    .argument('[file]', 'An export')
    .option('--anchor <seq:hash...>', 'A head that was kept elsewhere; shows a cut end or a rewritten whole');
  context.action(verify, async ({ args: [file], options }) =>
    file === undefined && options.anchor === undefined
      ? outcomeOf(await context.get<AuditVerdict>('/api/audit/verification'))
      : outcomeOf(await verifyFile(context, file, (options.anchor as string[] | undefined) ?? [])),
  );
  const output = command
    .command('export')
    .description('Write every event, one JSON document a line')
    .argument('[file]', 'Where to (default: stdout)')
    .option('--from <seq>', 'Only from this number on', '1')
    .option('--rejections', 'Only what was refused: time, peer, message type, reason, event, work key')
    .option('--evidence', 'Questions and answers as keyed hashes (keys/evidence.key), never their texts');
  context.action(output, async ({ args: [file], options }) =>
    exportTo(context, file, queryOf(options), options.json === true),
  );
}

async function verifyFile(context: CliContext, file: string | undefined, texts: string[]): Promise<AuditVerdict> {
  const { parseAnchor, verifyExport } = await import('../../store/index.ts');
  const anchors = texts.map((text) => {
    const anchor = parseAnchor(text);
    if (!anchor) throw failWith('invalid', 'bad_anchor', `${text} is no anchor: it has to be SEQ:HASH.`);
    return anchor;
  });
  const source =
    file === undefined
      ? await context.client().open('/api/audit/export', {}, context.io.signal)
      : createReadStream(resolve(context.io.cwd, file));
  source.on('error', () => {});
  const report = await verifyExport(source, anchors).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw failWith('not-found', 'no_such_file', `There is no file ${file}.`);
  });
  if (report.ok) return { ok: true, checked: report.count, head: report.head, firstFault: null };
  const { seq, id, fault, message } = report;
  return {
    ok: false,
    checked: seq - 1,
    head: { seq: 0, hash: '' },
    firstFault: { seq, id: id ?? null, fault, message },
  };
}

function outcomeOf(verdict: AuditVerdict): Outcome {
  if (verdict.firstFault === null) {
    return { json: verdict, text: `${verdict.checked} events hold. Anchor: ${verdict.head.seq}:${verdict.head.hash}` };
  }
  const { seq, id, fault, message } = verdict.firstFault;
  return { json: verdict, text: `Event ${seq}${id === null ? '' : ` (${id})`}: ${fault}. ${message}`, exitCode: 1 };
}

function queryOf({ from, rejections, evidence }: Record<string, unknown>): URLSearchParams {
  if (rejections && evidence) throw failWith('invalid', 'usage', 'Give --rejections or --evidence, not both.');
  const view = rejections ? 'rejections' : evidence ? 'evidence' : 'events';
  return new URLSearchParams({ view, from: String(from) });
}

async function exportTo(
  context: CliContext,
  file: string | undefined,
  query: URLSearchParams,
  json: boolean,
): Promise<Outcome> {
  if (file === undefined && json)
    throw failWith('invalid', 'usage', 'With --json name a file: stdout carries the one JSON line.');
  await context.ensureServer();
  const source = await context.client().open(`/api/audit/export?${query}`, {}, context.io.signal);
  if (file === undefined) {
    for await (const chunk of source) context.io.out((chunk as Buffer).toString('utf8'));
    return { json: null, text: '' };
  }
  const target = resolve(context.io.cwd, file);
  await pipeline(source, createWriteStream(target, { mode: 0o600 }));
  return { json: { path: target }, text: `Exported to ${target}.` };
}
