import type { Command } from 'commander';

import { type DiffView, type Page, type PullRequestView, estimateText, spendingText } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { pathOf } from '../seen-change.ts';
import { rememberSeenHead, seenFileOf } from '../seen-heads.ts';
import { checkLine } from '../show-check.ts';
import { oneLine, table, visible } from '../show.ts';
import { unlockFileOf } from '../unlock-file.ts';

export function define(command: Command, context: CliContext): void {
  const list = command
    .command('list', { isDefault: true })
    .description('List pull requests')
    .option('--state <state>', 'Only those in this state')
    .option('--all', 'Landed and closed ones too');
  context.action(list, async ({ options }) => {
    const state = options.state as string | undefined;
    const query = { state, limit: 500, ...(state === undefined && !options.all ? { open: true } : {}) };
    const page = await context.get<Page<PullRequestView>>('/api/pull-requests', query);
    const rows = page.items.map((one) => [
      `#${one.number}`,
      one.state,
      one.risk,
      one.author,
      `${one.round}/${one.maxRounds}`,
      oneLine(one.title, 50),
      oneLine(one.waitsFor, 60),
    ]);
    return {
      json: page,
      text:
        rows.length === 0
          ? options.all || state !== undefined
            ? 'No pull request.'
            : 'No open pull request; --all shows those that landed or were closed.'
          : table(['PR', 'STATE', 'RISK', 'AUTHOR', 'ROUND', 'TITLE', 'WAITS FOR'], rows),
    };
  });
  const show = command
    .command('show')
    .description('Show a pull request: risk, verdicts, checks')
    .argument('<number>', 'Number or id')
    .option('--diff', 'With its diff');
  context.action(show, async ({ args: [name = ''], options }) => {
    const path = pathOf(name);
    const pullRequest = await context.get<PullRequestView>(path);
    const diff = options.diff ? await context.get<DiffView>(`${path}/diff`) : undefined;
    const seen = seenFileOf(unlockFileOf(context.paths.home, context.io.env));
    rememberSeenHead(seen, pullRequest.id, diff?.headCommit ?? pullRequest.headCommit);
    if (!diff) return { json: pullRequest, text: textOf(pullRequest) };
    return { json: { ...pullRequest, diff }, text: `${textOf(pullRequest)}\n\n${diffText(diff)}` };
  });
}

function textOf(one: PullRequestView): string {
  const lines = [
    `#${one.number} ${oneLine(one.title)}`,
    `${one.state} · risk ${one.risk ?? 'not judged yet'} · ${one.branch} → ${one.base} · head ${one.headCommit.slice(0, 12)} · round ${one.round}/${one.maxRounds}`,
    ...(one.waitsFor === null ? [] : [`waits for: ${oneLine(one.waitsFor, 200)}`]),
    `cost: ${spendingText(one.spending)}, reviews included${one.estimate === null ? '' : ` · ${estimateText(one.estimate)}`}`,
    ...one.riskReasons.map((reason) => `risk: ${oneLine(reason, 200)}`),
  ];
  for (const verdict of one.verdicts) {
    lines.push(
      `${verdict.reviewer} (${verdict.family}): ${verdict.verdict}${verdict.isBinding ? '' : ', not binding'}. ${oneLine(verdict.summary, 300)}`,
    );
    for (const finding of verdict.findings) {
      const place =
        finding.file === null ? '' : `${oneLine(finding.file)}${finding.line === null ? '' : `:${finding.line}`} `;
      lines.push(`  ${finding.isBlocking ? 'BLOCKS' : 'note'} ${place}${oneLine(finding.text, 300)}`);
    }
  }
  for (const check of one.checks) lines.push(checkLine(check));
  if (one.body !== '') lines.push('', visible(one.body));
  return lines.join('\n');
}

function diffText(diff: DiffView): string {
  const files = diff.files.map((file) => {
    const head = `--- ${oneLine(file.path, 300)} (${file.status}, +${file.added ?? '?'} −${file.removed ?? '?'})${file.humanOnly === null ? '' : ` · for a human: ${file.humanOnly}`}`;
    return `${head}\n${file.patch === null ? `(${file.notShown ?? 'binary'})` : visible(file.patch)}`;
  });
  return [...files, `head ${diff.headCommit}`, ...(diff.reason === null ? [] : [diff.reason])].join('\n');
}
