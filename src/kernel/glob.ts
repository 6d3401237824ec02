/**
 * Whether `path` (relative, with `/`) matches `pattern`, the form of `paths`, `risk` and `policy` in `chantier.yml`: `**` any
 * number of folders, `*` and `?` within one name, `[a-z]`, `{a,b}`. Anchored at both ends; names that begin with a dot
 * are names like others. A pattern that ends in `/` means everything below.
 */
export function matchesGlob(pattern: string, path: string): boolean {
  return globExpression(pattern).test(path);
}

/** Why `pattern` can never match, or `undefined` when it can. */
export function globFault(pattern: string): string | undefined {
  if (pattern === '') return 'is empty';
  if (pattern.startsWith('./') || pattern.includes('/../') || pattern.startsWith('../') || pattern.includes('//'))
    return 'holds ./, ../ or // and can never match a normal path';
  try {
    globExpression(pattern);
    return undefined;
  } catch {
    return 'is not a valid pattern';
  }
}

const known = new Map<string, RegExp>();

function globExpression(pattern: string): RegExp {
  const cached = known.get(pattern);
  if (cached) return cached;
  const expression = new RegExp(`^${sourceOf(pattern.endsWith('/') ? `${pattern}**` : pattern)}$`, 'su');
  if (known.size > 2000) known.clear();
  known.set(pattern, expression);
  return expression;
}

function sourceOf(pattern: string): string {
  let source = '';
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at);
    if (rest.startsWith('**/')) {
      source += '(?:[^/]+/)*';
      at += 2;
    } else if (rest.startsWith('**')) {
      source += '.*';
      at += 1;
    } else if (rest[0] === '*') source += '[^/]*';
    else if (rest[0] === '?') source += '[^/]';
    else if (rest[0] === '[') {
      const set = /^\[(!|\^)?([^\]/]+)\]/.exec(rest);
      if (!set) throw new Error('unclosed set');
      source += `[${set[1] ? '^' : ''}${(set[2] ?? '').replaceAll(/[\\[\]&~|^]/g, String.raw`\$&`)}]`;
      at += set[0].length - 1;
    } else if (rest[0] === '{') {
      source += '(?:';
      depth += 1;
    } else if (rest[0] === '}' && depth > 0) {
      source += ')';
      depth -= 1;
    } else if (rest[0] === ',' && depth > 0) source += '|';
    else source += (rest[0] ?? '').replace(/[\\^$.|+(){}\]]/, String.raw`\$&`);
  }
  if (depth > 0) throw new Error('unclosed braces');
  return source;
}
