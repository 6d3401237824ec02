/** Settings of an npmrc that say where packages come from and nothing about who asks. */
const carriedKeys =
  /^(registry|@[a-z0-9-._~]+:registry|cafile|ca|ca\[\]|strict-ssl|engine-strict|save-exact|legacy-peer-deps)$/i;

/**
 * The part of the operator's npmrc that may be seen inside: registries and certificate authorities. Tokens, passwords,
 * user names, client keys and proxies stay outside, and so does every address with a log-in in it or a value from the
 * environment.
 */
export function filterNpmrc(text: string): string {
  const kept = text.split('\n').filter((line) => {
    const [, key, value = ''] = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*)$/.exec(line) ?? [];
    return key !== undefined && carriedKeys.test(key) && !/\$\{|\/\/[^/]*@/.test(value);
  });
  return kept.map((line) => `${line.trim()}\n`).join('');
}

/** The files of authorities that an npmrc names. */
export function authoritiesOfNpmrc(text: string): string[] {
  return text.split('\n').flatMap((line) => /^\s*cafile\s*=\s*["']?(\/[^"']+?)["']?\s*$/i.exec(line)?.[1] ?? []);
}
