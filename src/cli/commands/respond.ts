import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

import type { Command } from 'commander';

import type { AnsweredBatchView, EscalationView, SettledView } from '../../wire/index.ts';
import type { CliContext, CommonOptions } from '../context.ts';
import { withProof } from '../options.ts';
import { failWith, type Outcome } from '../outcome.ts';
import { counted, oneLine, withNotice } from '../show.ts';

/** As `pending` names questions; a work key has a slash or a dash. */
const decisionId = /^[0-9a-z]{8}$/;

export function define(command: Command, context: CliContext): void {
  withProof(
    command
      .argument('<session>', 'Work key or id of the session (its oldest question), or id of the decision')
      .argument('[text]', 'The answer; - reads it from stdin')
      .option(
        '--batch <file>',
        'Answer several questions in their order: a JSON list, or texts between lines of ---; - reads stdin',
      ),
  );
  context.action(command, async ({ args: [session = '', given], options }) => {
    if (typeof options.batch === 'string') return answerBatch(context, session, options.batch, options);
    if (given === undefined) throw failWith('invalid', 'usage', 'Give the answer, or --batch with several.');
    const text = await context.textOf(given);
    if (decisionId.test(session)) {
      const verdict = { verdict: 'respond', text };
      const settled = await context.decide<SettledView>('PUT', `/api/decisions/${session}/verdict`, verdict, options);
      return { json: settled, text: settled.message };
    }
    const path = `/api/sessions/${encodeURIComponent(session)}/answers`;
    const answered = await context.decide<EscalationView>('POST', path, { text }, options);
    const state = answered.delivery === 'delivered' ? 'delivered' : 'stored, delivery pending';
    return { json: answered, text: withNotice(`${answered.workKey}: answer ${state}.`, answered.notice) };
  });
}

async function answerBatch(
  context: CliContext,
  session: string,
  file: string,
  options: CommonOptions,
): Promise<Outcome> {
  const given = file === '-' ? await context.io.readStdin() : await readBatch(resolve(context.io.cwd, file));
  const path = `/api/sessions/${encodeURIComponent(session)}/answer-batches`;
  const done = await context.decide<AnsweredBatchView>('POST', path, { answers: parseBatch(given) }, options);
  const lines = done.results.map(
    ({ outcome, escalation, message }, at) =>
      `${at + 1}. ${outcome}: ${oneLine(escalation ? escalation.text : message, 160)}`,
  );
  const isWhole = done.answered === done.results.length;
  const text = [
    ...lines,
    `${done.answered} of ${counted(done.results.length, 'answer')} given; ${counted(done.open, 'question')} open.`,
  ];
  return { json: done, text: text.join('\n'), exitCode: isWhole ? 0 : 10 };
}

async function readBatch(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw failWith('not-found', 'file_missing', `${path} cannot be read: ${(error as Error).message}`);
  }
}

/** A JSON list of texts or of `{ text, question }`, else texts between lines of `---`. */
function parseBatch(given: string): { text: string; question?: string }[] {
  if (given.trimStart().startsWith('[')) {
    let list: unknown;
    try {
      list = JSON.parse(given);
    } catch (error) {
      throw failWith('invalid', 'bad_batch', `The batch is no JSON list: ${(error as Error).message}`);
    }
    if (Array.isArray(list))
      return list.map((each) => (typeof each === 'string' ? { text: each } : (each as { text: string })));
  }
  const texts = given.split(/^---[ \t]*\r?$/m).map((text) => text.trim());
  return texts.filter((text) => text !== '').map((text) => ({ text }));
}
