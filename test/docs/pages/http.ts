import { describeApi, describeRights } from '../../../src/server/index.ts';
import { isMutation, rightOf, rights } from '../../../src/wire/index.ts';
import { code, type Page, page, table } from './page.ts';

interface Operation {
  summary?: string;
  tags?: readonly string[];
}

const intro = `The server listens on 127.0.0.1 (default port 4747) and on the unix socket \`sock\` of its home. The whole description,
with every body, is [openapi.json](openapi.json); a running server gives the same at \`/api/openapi.json\`.

- **Who is asking.** The console has a cookie that only reads, and sends its proof as a header for changes. The operator's
  CLI has the token of its home, over the socket only. An agent has the token of its own session, over the socket in its sandbox only.
- **Changes** need the header \`Idempotency-Key\`, but for the few marked. The same key with the same body gives the same answer again.
- **Refusals** are problem bodies (RFC 9457) with a stable \`code\`: [refusals](refusals.md).
- **Lists** give \`items\` and \`nextCursor\`, which is null at the end; send it back as \`cursor\`.
- **Events** come as a page, or with \`Accept: text/event-stream\` as a stream that goes on after \`Last-Event-ID\`: [events](events.md).`;

/** The API: one page to read, the OpenAPI document, and the table of rights. */
export function httpPages(): Page[] {
  const document = describeApi('0') as { paths: Record<string, Record<string, Operation>> };
  const byTag = new Map<string, string[][]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { summary = '', tags = ['other'] }] of Object.entries(methods)) {
      const route = `${method.toUpperCase()} ${path}`;
      byTag.set(tags[0]!, [...(byTag.get(tags[0]!) ?? []), [code(route), summary, conditionsOf(route)]]);
    }
  }
  const sections = [...byTag].map(
    ([tag, rows]) => `## ${tag}\n\n${table(['Route', 'What it does', 'Asks for'], rows)}`,
  );
  return [
    page('docs/reference/http.md', 'HTTP interface', intro, ...sections),
    { file: 'docs/reference/openapi.json', content: `${JSON.stringify(document, null, 1)}\n` },
    page('docs/reference/rights.md', 'Who may take which route', describeRights()),
  ];
}

function conditionsOf(route: string): string {
  if (!(route in rights)) return '';
  const { proof, withoutKey } = rightOf(route);
  const proofs = { standing: 'proof', fresh: 'the passphrase anew', 'by-data': 'proof, by what is decided' };
  return [...(isMutation(route) ? [withoutKey ? 'no key' : 'key'] : []), ...(proof ? [proofs[proof]] : [])].join(', ');
}
