import { pino } from 'pino';

import type { Access, App } from '../app/index.ts';
import { phoneVerdicts, type PrincipalKind, principalKinds, rightOf, rights } from '../wire/index.ts';
import { buildApi } from './api.ts';
import { openApiDocument } from './openapi.ts';

/** The OpenAPI document without an instance behind it: what `docs/reference/openapi.json` holds. */
export function describeApi(version: string): object {
  const groups = ['work', 'sessions', 'decisions', 'gate', 'review', 'repositories', 'instance', 'notify', 'agentSide'];
  const api = buildApi({
    app: Object.fromEntries(groups.map((group) => [group, {}])) as unknown as App,
    access: {} as Access,
    version,
    log: pino({ level: 'silent' }),
    onShutdown: () => {},
    stopping: new AbortController().signal,
  });
  return openApiDocument(api, version);
}

const columns: Readonly<Record<PrincipalKind, string>> = {
  operator: 'operator (console)',
  'operator-cli': 'operator CLI',
  viewer: 'viewer',
  author: 'author agent',
  reviewer: 'reviewer agent',
  qa: 'QA agent',
  anyone: 'nobody known',
};

/** The table of rights as Markdown. */
export function describeRights(): string {
  const head = ['Route', ...principalKinds.map((kind) => columns[kind]), 'Human proof'];
  const rows = Object.keys(rights).map((route) => {
    const { who, proof } = rightOf(route);
    return [`\`${route}\``, ...principalKinds.map((kind) => (who.includes(kind) ? 'yes' : '')), proof ?? ''];
  });
  const phone = Object.entries(phoneVerdicts).map(([kind, verdicts]) => [`\`${kind}\``, verdicts.join(', ')]);
  return `${tableOf([head, ...rows])}

A Telegram user on the owner list is an operator with an ordinary proof, by messages and not by routes. Of the decisions it
settles these, as far as they need no passphrase given anew and a message can show what is decided:

${tableOf([['Kind', 'By phone'], ...phone])}`;
}

function tableOf([head = [], ...rows]: readonly string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
