import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Serves the built console from `folder`; `undefined` when it was not built. Only files that were there at the start exist, so
 * no path leads elsewhere. Paths without a file get `index.html`: the console has screens of its own.
 */
export function serveConsoleFrom(
  folder: string,
): ((path: string, request: Request) => Response | undefined) | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const files = new Map<string, { bytes: Buffer<ArrayBuffer>; type: string; etag: string }>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const full = join(entry.parentPath, entry.name);
    const bytes = readFileSync(full);
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const type = contentTypes[extname(entry.name)] ?? 'application/octet-stream';
    files.set(`/${relative(folder, full)}`, { bytes, type, etag });
  }

  return (path, request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined;
    const wantsScreen = extname(path) === '';
    const file = files.get(path) ?? (wantsScreen ? files.get('/index.html') : undefined);
    if (!file) return undefined;
    const headers = {
      'content-type': file.type,
      etag: file.etag,
      'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    };
    if (request.headers.get('if-none-match') === file.etag) return new Response(null, { status: 304, headers });
    return new Response(request.method === 'HEAD' ? null : file.bytes, { headers });
  };
}
