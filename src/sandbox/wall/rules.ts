import { isIP } from 'node:net';

/** One host that a session may reach. */
export interface WallRule {
  /** A name, or `*.name` for everything below it (not the name itself), or `*` for every public name. Lower case. */
  host: string;
  /** Default: 443. */
  ports?: readonly number[];
  /** The operator's own network may answer for this name (10/8, 172.16/12, 192.168/16, fc00::/7). Default false. */
  allowPrivate?: boolean;
  /** Connect to this `address:port` whatever DNS says; for tests without a network. */
  address?: string;
}

/** Why the wall refused a connection; counted, never a decision each. */
export type DenialReason =
  | 'host-not-named'
  | 'port-not-named'
  | 'ip-literal'
  | 'private-answer'
  | 'userinfo'
  | 'malformed'
  | 'not-a-proxy-request'
  | 'too-many-connections';

export type Judgement = { allowed: true; host: string; rule: WallRule } | { allowed: false; reason: DenialReason };

/** The host as rules know it: lower case, no final dot; `undefined` when it is no plain name. */
export function plainHost(host: string): string | undefined {
  const name = host.toLowerCase().replace(/\.$/, '');
  return name.length <= 253 && /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(name) && !name.includes('..')
    ? name
    : undefined;
}

/** Whether `host:port` may be reached under `rules`. Names only: an address, in whatever spelling, is never named. */
export function judgeTarget(rules: readonly WallRule[], host: string, port: number): Judgement {
  if (isAddressLike(host)) return judgeLiteral(rules, host, port);
  const name = plainHost(host);
  if (name === undefined || !Number.isInteger(port) || port < 1 || port > 65_535)
    return { allowed: false, reason: 'malformed' };
  const named = rules.filter((rule) => hostMatches(rule.host, name));
  if (named.length === 0) return { allowed: false, reason: 'host-not-named' };
  const rule = named.find(({ ports = [443] }) => ports.includes(port));
  return rule ? { allowed: true, host: name, rule } : { allowed: false, reason: 'port-not-named' };
}

/** Splits `host:port` as CONNECT names it. */
export function splitAuthority(authority: string): { host: string; port: number } | undefined {
  const match = /^(\[[0-9a-fA-F:.%]+\]|[^:@/?#\s[\]]+):(\d{1,5})$/.exec(authority);
  return match ? { host: match[1]!, port: Number(match[2]) } : undefined;
}

/** An address in any spelling that a resolver takes for one: dotted, decimal, octal, hexadecimal, IPv6. */
function isAddressLike(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  const lastLabel = host.replace(/\.$/, '').split('.').at(-1) ?? '';
  return isIP(bare) !== 0 || bare.includes(':') || /^(\d+|0x[0-9a-f]*)$/i.test(lastLabel);
}

/** A literal passes only where a test's rule names it together with the address it stands for. */
function judgeLiteral(rules: readonly WallRule[], host: string, port: number): Judgement {
  const rule = rules.find((candidate) => candidate.address !== undefined && candidate.host === host);
  return rule && (rule.ports ?? [443]).includes(port)
    ? { allowed: true, host, rule }
    : { allowed: false, reason: 'ip-literal' };
}

function hostMatches(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}
