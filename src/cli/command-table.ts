import type { Command } from 'commander';

import type { CliContext } from './context.ts';

/** One file of `commands/`: adds arguments, options and action to its verb. */
export interface CommandModule {
  define(command: Command, context: CliContext): void;
}

/** A verb as the table names it; its file is loaded only when the verb is used. */
export interface CommandEntry {
  group: string;
  summary: string;
  load(): Promise<CommandModule>;
}

/** Every verb, by group (design section 8). */
export const commands = {
  up: { group: 'Instance', summary: 'Start the server', load: () => import('./commands/up.ts') },
  down: {
    group: 'Instance',
    summary: 'End the server; agents go on unless told otherwise',
    load: () => import('./commands/down.ts'),
  },
  init: {
    group: 'Instance',
    summary: 'First run: operator, passphrase, phase, agents',
    load: () => import('./commands/init.ts'),
  },
  trust: {
    group: 'Instance',
    summary: 'Trust the configuration of a repository',
    load: () => import('./commands/trust.ts'),
  },
  unlock: {
    group: 'Instance',
    summary: 'Open this terminal for decisions, for 8 h',
    load: () => import('./commands/unlock.ts'),
  },
  doctor: {
    group: 'Instance',
    summary: 'Check the machine and the instance',
    load: () => import('./commands/doctor.ts'),
  },
  config: { group: 'Instance', summary: 'Show and change settings', load: () => import('./commands/config.ts') },
  notify: {
    group: 'Instance',
    summary: 'Set up and test the ways to your phone',
    load: () => import('./commands/notify.ts'),
  },
  user: { group: 'Instance', summary: 'List and add operators and viewers', load: () => import('./commands/user.ts') },
  events: { group: 'Instance', summary: 'Show the event log', load: () => import('./commands/events.ts') },
  recap: {
    group: 'Instance',
    summary: 'What happened since: landed, waiting, failed, cost',
    load: () => import('./commands/recap.ts'),
  },
  backup: { group: 'Instance', summary: 'Write a backup', load: () => import('./commands/backup.ts') },
  restore: {
    group: 'Instance',
    summary: 'Put a backup back, with the server stopped',
    load: () => import('./commands/restore.ts'),
  },
  whoami: {
    group: 'Instance',
    summary: 'Say who the server takes this terminal for',
    load: () => import('./commands/whoami.ts'),
  },
  demo: {
    group: 'Main job',
    summary: 'Watch the main job on a scratch repository',
    load: () => import('./commands/demo.ts'),
  },
  run: { group: 'Main job', summary: 'Turn a request into a reviewed change', load: () => import('./commands/run.ts') },
  pending: { group: 'Decisions', summary: 'List what waits for a human', load: () => import('./commands/pending.ts') },
  approve: { group: 'Decisions', summary: 'Say yes to a decision', load: () => import('./commands/approve.ts') },
  refuse: { group: 'Decisions', summary: 'Say no to a decision', load: () => import('./commands/refuse.ts') },
  respond: {
    group: 'Sessions',
    summary: 'Answer the oldest open question of a session',
    load: () => import('./commands/respond.ts'),
  },
  project: { group: 'Work', summary: 'Create, list and show projects', load: () => import('./commands/project.ts') },
  job: { group: 'Work', summary: 'Add jobs and list them', load: () => import('./commands/job.ts') },
  task: {
    group: 'Work',
    summary: 'Add, list, change, complete and reopen tasks',
    load: () => import('./commands/task.ts'),
  },
  agent: { group: 'Work', summary: 'List and add agents', load: () => import('./commands/agent.ts') },
  start: { group: 'Sessions', summary: 'Start a session on a work key', load: () => import('./commands/start.ts') },
  status: {
    group: 'Sessions',
    summary: 'Everything at a glance, or one session',
    load: () => import('./commands/status.ts'),
  },
  escalations: {
    group: 'Sessions',
    summary: 'List open questions of agents',
    load: () => import('./commands/escalations.ts'),
  },
  pause: { group: 'Sessions', summary: 'Hold a running session', load: () => import('./commands/pause.ts') },
  resume: { group: 'Sessions', summary: 'Let a paused session go on', load: () => import('./commands/resume.ts') },
  stop: {
    group: 'Sessions',
    summary: 'End a session, or with --all everything',
    load: () => import('./commands/stop.ts'),
  },
  tell: { group: 'Sessions', summary: 'Tell a session something', load: () => import('./commands/tell.ts') },
  takeover: {
    group: 'Sessions',
    summary: 'Take the wheel: end the agent and work in its place, in its sandbox',
    load: () => import('./commands/takeover.ts'),
  },
  handback: {
    group: 'Sessions',
    summary: 'Give a session back; its agent goes on with what you did',
    load: () => import('./commands/handback.ts'),
  },
  logs: { group: 'Sessions', summary: 'Show the transcript of a session', load: () => import('./commands/logs.ts') },
  search: {
    group: 'Sessions',
    summary: 'Look through transcripts, questions, answers, messages and reports',
    load: () => import('./commands/search.ts'),
  },
  attach: {
    group: 'Sessions',
    summary: 'Watch a session live; type at its terminal with --write',
    load: () => import('./commands/attach.ts'),
  },
  path: { group: 'Sessions', summary: 'Print where a session works', load: () => import('./commands/path.ts') },
  open: {
    group: 'Sessions',
    summary: 'Open the work folder of a session in your editor',
    load: () => import('./commands/open.ts'),
  },
  watch: {
    group: 'Sessions',
    summary: 'See and answer sessions that you start by hand',
    load: () => import('./commands/watch.ts'),
  },
  capability: { group: 'Gate', summary: 'List and show capabilities', load: () => import('./commands/capability.ts') },
  audit: { group: 'Gate', summary: 'Verify and export the event log', load: () => import('./commands/audit.ts') },
  pr: { group: 'Review', summary: 'List and show pull requests', load: () => import('./commands/pr.ts') },
  human: {
    group: 'Review',
    summary: 'Approve, retry or abandon a change that waits for a human',
    load: () => import('./commands/human.ts'),
  },
  land: { group: 'Review', summary: 'Land a reviewed change', load: () => import('./commands/land.ts') },
  revert: {
    group: 'Review',
    summary: 'Open a reviewed revert of a landing',
    load: () => import('./commands/revert.ts'),
  },
  mcp: {
    group: 'Agents’ side',
    summary: 'MCP server for the agent that started this (stdio)',
    load: () => import('./commands/mcp.ts'),
  },
} as const satisfies Record<string, CommandEntry>;

export type Verb = keyof typeof commands;

/** Other spellings; the seed's `escalade` is one (ERR-05). */
export const aliases: Readonly<Record<string, Verb>> = { escalade: 'escalations' };
