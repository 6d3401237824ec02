/** Names of `scripts` that differ between two package.json texts; `undefined` = the file is not there. Unreadable counts as all changed. */
export function changedScripts(before: string | undefined, after: string | undefined): string[] {
  const old = scriptsOf(before);
  const now = scriptsOf(after);
  if (old === 'unreadable' || now === 'unreadable') return before === after ? [] : ['(unreadable)'];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name])).toSorted();
}

function scriptsOf(text: string | undefined): Record<string, unknown> | 'unreadable' {
  if (text === undefined) return {};
  try {
    const value = JSON.parse(text) as { scripts?: unknown } | null;
    const scripts = value?.scripts ?? {};
    return typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

const skips: readonly RegExp[] = [
  /\b(?:it|test|describe|context|suite)\.(?:skip|todo|only|fixme|skipIf|runIf)\b/,
  /\bx(?:it|describe|test|context)\s*\(/,
  /\bf(?:it|describe)\s*\(/,
  /@(?:unittest\.)?skip(?:If|Unless)?\b|@pytest\.mark\.(?:skip|skipif|xfail)\b|\bpytest\.skip\(/,
  /#\[ignore/,
  /\bt\.Skip(?:f|Now)?\(/,
  /@(?:Ignore|Disabled)\b/,
  /\[(?:Ignore|Fact\(Skip|Theory\(Skip)/,
  /\bskip\s+["']|\bpending\s+["']/,
];

/** Whether added lines (without their `+`) skip a test, or leave all others out. */
export function skipsTest(addedLines: readonly string[]): boolean {
  return addedLines.some((line) => skips.some((pattern) => pattern.test(line)));
}

const secrets: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{40,}\b|\bglpat-[A-Za-z0-9_-]{20,}\b/,
  /\bAKIA[A-Z0-9]{16}\b|\bASIA[A-Z0-9]{16}\b/,
  /\bxox[abprs]-[A-Za-z0-9-]{20,}\b/,
  /\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b/,
  /\bAIza[A-Za-z0-9_-]{35}\b|\bnpm_[A-Za-z0-9]{36}\b/,
];

/** Whether added lines hold what looks like a secret. */
export function holdsSecret(addedLines: readonly string[]): boolean {
  return addedLines.some((line) => secrets.some((pattern) => pattern.test(line)));
}
