import type { Tier } from './capability.ts';

const reads =
  /^(get|list|search|read|find|fetch|query|describe|show|view|count|check|lookup|resolve|browse|status|diff|log|explain|help|ping|who|whoami)(_|$)/;
const ends =
  /(^|_)(delete|remove|drop|destroy|purge|truncate|wipe|reset|revoke|rotate|deploy|publish|release|ship|merge|push|pay|charge|refund|transfer|buy|order|send|mail|email|post|tweet|invite|grant|exec|execute|run|eval|shell|sql|admin|sudo|kill|terminate|secret|token|password|credential)s?(_|$)/;

/**
 * What a tool's name alone suggests, for a human to look at before anything was connected. Only a proposal: it decides
 * nothing, and what it does not understand is privileged (G-5).
 */
export function proposeTier(toolName: string): Tier {
  const words = toolName
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
  if (ends.test(words)) return 'privileged';
  if (reads.test(words)) return 'read-only';
  return /^(create|add|update|edit|write|set|move|rename|comment|open|close|assign|label|save|insert|append)(_|$)/.test(
    words,
  )
    ? 'reversible'
    : 'privileged';
}
