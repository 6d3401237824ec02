/** A text with its secrets replaced, and how many there were. */
export interface Redacted {
  text: string;
  maskedCount: number;
}

/** Tokens that say what they are; none of them can be a command or a path. */
const knownTokens: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,255}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,255}\b/g,
  /\bglpat-[A-Za-z0-9_-]{20,64}\b/g,
  /\bsk-[A-Za-z0-9_-]{20,255}\b/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,255}\b/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}\b/g,
  /\bnpm_[A-Za-z0-9]{36}\b/g,
  /\beyJ[A-Za-z0-9_-]{10,500}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,2000}\b/g,
];

/**
 * `name=value`, `--name value`, `"name": "value"` where the name says that the value is secret. The value ends at white
 * space, quotes and shell operators, so that nothing which follows can hide in it.
 */
const secretName = String.raw`(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,60}(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|token|credential)[A-Za-z0-9_]{0,30}`;
const secretValue = String.raw`[^\s"'\`;|&<>()$\\]{4,}`;
const named = new RegExp(
  String.raw`(${secretName}["']?(?:=|[ \t]*:[ \t]*|[ \t]+)["']?|\bBearer[ \t]+|\bBasic[ \t]+|:\/\/[^\s\/:@"']{1,100}:)(${secretValue})`,
  'gi',
);

/**
 * Masks secrets in `text`: the same text always gives the same result, and a command, an operator or a path is never
 * masked (decision 8). A masked value shows its length.
 */
export function redactSecrets(text: string): Redacted {
  let maskedCount = 0;
  const mask = (secret: string): string => {
    maskedCount += 1;
    return `[secret, ${secret.length} characters]`;
  };
  let masked = text;
  for (const pattern of knownTokens) masked = masked.replace(pattern, (secret) => mask(secret));
  masked = masked.replace(named, (whole: string, lead: string, value: string) => {
    if (!isSecretValue(lead, value)) return whole;
    if (!lead.startsWith('://')) return `${lead}${mask(value)}`;
    const at = value.indexOf('@');
    return at < 1 ? whole : `${lead}${mask(value.slice(0, at))}${value.slice(at)}`;
  });
  return { text: masked, maskedCount };
}

/** Paths, options, words and what was masked already stay; after white space only what looks random is a secret. */
function isSecretValue(lead: string, value: string): boolean {
  if (value.startsWith('[secret')) return false;
  if (lead.startsWith('://')) return value.includes('@');
  if (/^(?:\.{0,2}\/|~|-|\[)/.test(value) || (value.includes('/') && !/[0-9]/.test(value))) return false;
  if (/[=:]\s*["']?$/.test(lead)) return true;
  return value.length >= 12 && /[0-9]/.test(value) && /[A-Za-z]/.test(value) && !value.includes('/');
}
