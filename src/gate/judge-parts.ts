import type { CallServer, Effect, GateCall, Requirement } from './call.ts';
import { commandOf, folderOf, pathsOf, urlsOf } from './call-facts.ts';
import type { CapabilityDefinition } from './capability.ts';
import { builtinDefinition, serverToolDefinition } from './definition.ts';
import { type JudgedCommand, judgeScript } from './judge-command.ts';
import { firstRule, matchesName } from './match-rule.ts';
import { type Places, placesOf } from './places.ts';
import type { GatePolicy } from './policy.ts';
import { mentionsOutside } from './programs.ts';

/**
 * What the policy says of a call, part by part (decision 7): a compound command has a part for each simple command, and
 * the strictest one decides. Reads the disk for symbolic links: only outside transactions.
 */
export function judgeParts(call: GateCall, policy: GatePolicy): Requirement[] {
  const placed = { ...call, cwd: folderOf(call) };
  const places = placesOf(placed);
  const command = commandOf(call);
  if (!command) return [judgeTool(call, policy, places)];
  const commands = command.isUnderstood ? judgeScript(command.commands, places) : undefined;
  if (!commands) return [judgeUnknownScript(call, policy, places, command.text)];
  const touched = call.rawInput === undefined ? [] : credentialParts(call, places);
  return [...commands.map((one) => judgeOne(call, policy, places, one)), ...touched];
}

/** One simple command: the first rule, else the preset. */
function judgeOne(call: GateCall, policy: GatePolicy, places: Places, command: JudgedCommand): Requirement {
  const rule = firstRule(policy, { call, places, command });
  const definition = builtinDefinition(
    'command',
    command.name,
    rule && opens(rule.effect) ? 'reversible' : 'privileged',
  );
  if (rule)
    return {
      effect: rule.effect,
      reason: `rule_${rule.effect}`,
      capability: definition,
      isStanding: false,
      source: `rule:${rule.source}`,
    };
  if (command.class === 'read' && policy.preset !== 'locked') return read(policy);
  if (policy.preset !== 'workspace') return blocked(policy, definition);
  if (command.class === 'outside') return ask('outside_effect', definition, true);
  if (command.class === 'network') return judgeHosts(call, policy, command.hosts, definition);
  if (call.sandboxHolds) return inside('command in sandbox');
  if (command.class === 'edit') return inside('file change in work folder');
  if (command.class === 'git') return inside('git in work folder');
  if (command.class === 'named' && !command.hasVariables) return ask('unknown_command', definition, true);
  return ask('unmatched_command', definition, false);
}

/** A script that was not taken apart: nothing standing; inside a sandbox only what names an effect outside asks. */
function judgeUnknownScript(call: GateCall, policy: GatePolicy, places: Places, text: string): Requirement {
  const definition = builtinDefinition('command', 'command not understood', 'privileged');
  const rule = firstRule(
    { ...policy, rules: policy.rules.filter((one) => one.command === undefined) },
    { call, places },
  );
  if (rule?.effect === 'block')
    return {
      effect: 'block',
      reason: 'rule_block',
      capability: definition,
      isStanding: false,
      source: `rule:${rule.source}`,
    };
  if (policy.preset !== 'workspace') return blocked(policy, definition);
  const mayBeForbidden = policy.rules.some((one) => one.command !== undefined && !opens(one.effect));
  if (!call.sandboxHolds || rule?.effect === 'ask' || mayBeForbidden || mentionsOutside(text)) {
    return ask(call.rawInput === undefined ? 'raw_input_missing' : 'not_understood', definition, false);
  }
  return inside('command in sandbox');
}

/** A call that runs no command: a tool of the agent, or of a server. */
function judgeTool(call: GateCall, policy: GatePolicy, places: Places): Requirement {
  if (call.server) return judgeServerTool(call, call.server, policy, places);
  const name = toolName(call);
  const rule = firstRule(policy, { call, places });
  if (rule) {
    const definition = builtinDefinition('tool', name, opens(rule.effect) ? 'reversible' : 'privileged');
    return {
      effect: rule.effect,
      reason: `rule_${rule.effect}`,
      capability: definition,
      isStanding: false,
      source: `rule:${rule.source}`,
    };
  }
  const definition = builtinDefinition('tool', name, 'privileged');
  const { kind } = call.tool;
  const isReading = kind === 'read' || kind === 'search' || kind === 'think';
  const [credentials] = credentialParts(call, places);
  if (credentials && policy.preset === 'workspace') return credentials;
  if (isReading && policy.preset !== 'locked' && (call.rawInput !== undefined || call.sandboxHolds))
    return read(policy);
  if (policy.preset !== 'workspace') return blocked(policy, definition);
  if (kind === 'fetch') return judgeFetch(call, policy, definition);
  if (call.rawInput === undefined && !call.sandboxHolds) return ask('raw_input_missing', definition, false);
  if (kind === 'edit' || kind === 'delete' || kind === 'move') return judgeFiles(call, places, name);
  return call.sandboxHolds ? inside('tool in sandbox') : ask('unknown_tool', definition, false);
}

function judgeFiles(call: GateCall, places: Places, name: string): Requirement {
  const paths = pathsOf(call);
  const definition = builtinDefinition('tool', `${name} outside the work folder`, 'privileged');
  if (paths.length === 0)
    return call.sandboxHolds ? inside('file change in work folder') : ask('path_unknown', definition, false);
  const worst = paths.map((path) => places.placeOf(path));
  if (worst.includes('outside')) return ask('path_outside', definition, false);
  // Inside the sandbox what later runs code runs in the sandbox too, and a change of it shows in the review.
  if (worst.includes('protected') && !call.sandboxHolds) return ask('path_protected', definition, false);
  return inside('file change in work folder');
}

function judgeServerTool(call: GateCall, server: CallServer, policy: GatePolicy, places: Places): Requirement {
  if (server.isOwn) return { effect: 'read', reason: 'own_server', isStanding: true, source: 'gate' };
  const name = toolName(call);
  const definition = serverToolDefinition(server, name);
  const rule = firstRule(policy, { call, places });
  const capability: CapabilityDefinition = {
    ...definition,
    tier: definition.tier === 'read-only' ? 'reversible' : definition.tier,
  };
  if (rule) {
    const effect: Effect = rule.effect;
    return {
      effect,
      reason: `rule_${effect}`,
      capability: effect === 'provisional' ? { ...capability, tier: 'reversible' } : capability,
      isStanding: false,
      source: `rule:${rule.source}`,
    };
  }
  if (definition.tier === 'read-only' && policy.preset !== 'locked') return read(policy);
  if (policy.preset !== 'workspace') return blocked(policy, capability);
  return {
    effect: 'tier',
    reason: `tier_${capability.tier}`,
    capability,
    isStanding: true,
    source: `preset:${policy.preset}`,
  };
}

function judgeFetch(call: GateCall, policy: GatePolicy, definition: CapabilityDefinition): Requirement {
  const hosts = urlsOf(call).map((url) => (URL.canParse(url) ? new URL(url).hostname.toLowerCase() : ''));
  if (hosts.length === 0 || hosts.includes('')) return ask('host_unknown', definition, false);
  return judgeHosts(call, policy, hosts, definition);
}

/** Hosts that the wall lets through and the machine's own loopback are inside; one question for the first other host. */
function judgeHosts(
  call: GateCall,
  policy: GatePolicy,
  hosts: readonly string[],
  definition: CapabilityDefinition,
): Requirement {
  const beyond = hosts.find((host) => !isAllowedHost(host, policy.allowedHosts));
  if (beyond !== undefined)
    return ask(
      'network',
      builtinDefinition('http_operation', `network: ${beyond}`, 'privileged'),
      hosts.length === 1 && call.sandboxHolds,
    );
  if (call.sandboxHolds) return inside('network in sandbox');
  return ask('unmatched_command', definition, false);
}

/** `packages.example.net` or `*.example.org`, with or without a port. */
export function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  if (/^(?:localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host)) return true;
  return allowed.some((entry) => matchesName(entry.toLowerCase().replace(/:\d+$/, ''), host));
}

function credentialParts(call: GateCall, places: Places): Requirement[] {
  if (!pathsOf(call).some((path) => places.placeOf(path) === 'credentials')) return [];
  return [ask('credentials', builtinDefinition('tool', 'use of credentials', 'privileged'), false)];
}

function toolName(call: GateCall): string {
  const name = (call.tool.name ?? call.tool.kind).replaceAll(/\p{C}/gu, '').slice(0, 200);
  return name === '' ? call.tool.kind : name;
}

function opens(effect: string): boolean {
  return effect === 'allow' || effect === 'provisional';
}

function read(policy: GatePolicy): Requirement {
  return { effect: 'read', reason: 'read_only', isStanding: true, source: `preset:${policy.preset}` };
}

function inside(name: string): Requirement {
  return {
    effect: 'allow',
    reason: 'inside',
    capability: builtinDefinition('tool', name, 'reversible'),
    isStanding: true,
    source: 'preset:workspace',
  };
}

function ask(reason: string, capability: CapabilityDefinition, isStanding: boolean): Requirement {
  return { effect: 'ask', reason, capability, isStanding, source: 'preset:workspace' };
}

function blocked(policy: GatePolicy, capability: CapabilityDefinition): Requirement {
  return { effect: 'block', reason: 'preset_block', capability, isStanding: false, source: `preset:${policy.preset}` };
}
