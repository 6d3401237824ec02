import { pino } from 'pino';

import type { Access, App } from '../app/index.ts';
import { type PrincipalKind, principalKinds, rightOf, rights } from '../wire/index.ts';
import { buildApi } from './api.ts';
import { openApiDocument } from './openapi.ts';

/** The OpenAPI document without an instance behind it: what `docs/reference/openapi.json` holds. */
export function describeApi(version: string): object {
  const groups = ['work', 'sessions', 'decisions', 'gate', 'review', 'repositories', 'instance', 'agentSide'];
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
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
