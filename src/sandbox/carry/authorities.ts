import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/** Variables that name certificate authorities to some program. */
const authorityVariables: readonly string[] = [
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'CURL_CA_BUNDLE',
  'DENO_CERT',
  'GIT_SSL_CAINFO',
  'NODE_EXTRA_CA_CERTS',
  'PIP_CERT',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
];

export interface CarriedAuthorities {
  env: Record<string, string>;
  /** The files and folders named, to be shown read-only. */
  readOnly: string[];
}

/** The certificate authorities that came to the server by environment, for inside. Paths that do not exist are left out. */
export function findAuthorities(env: Readonly<Record<string, string | undefined>> = process.env): CarriedAuthorities {
  const found = authorityVariables.flatMap((name) => {
    const path = env[name];
    return path !== undefined && isAbsolute(path) && existsSync(path) ? [[name, path] as const] : [];
  });
  return { env: Object.fromEntries(found), readOnly: [...new Set(found.map(([, path]) => path))] };
}
