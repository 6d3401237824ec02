import { toRfc3339 } from '../../kernel/index.ts';
import {
  ackOutside,
  activeStates,
  dismissOutside,
  forgetOutside,
  heartbeatOutside,
  listOutside,
  outsideWords,
  portActor,
  reapOutside,
  registerOutside,
  sendFromOutside,
  setOutsideSummary,
  takeOutside,
  unregisterOutside,
} from '../../sessions/index.ts';
import type { OutsidePeerView, PeersQuery } from '../../wire/index.ts';
import type { PeersUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';
import { settingsTopic } from '../instance/change-setting.ts';
import { ensurePeersToken } from './peers-token.ts';

/** What clients of the claude-peers port reach; our own sessions among what they see (sessions decision 10). */
export function peersUseCases(ctx: AppContext): PeersUseCases {
  const { sessions, config, store } = ctx;
  return {
    wanted: () => ({
      port: config.get('sessions.peersPort'),
      token: config.get('sessions.peersToken') ? ensurePeersToken(ctx.paths.keys) : undefined,
    }),
    onSettings: (listener) => store.onWake(settingsTopic, listener),
    register: (client) => registerOutside(sessions, { ...client, summary: outsideWords(client.summary) }),
    heartbeat: (id) => heartbeatOutside(sessions, id),
    setSummary: (id, summary) => setOutsideSummary(sessions, id, outsideWords(summary)),
    async list(query) {
      await reapOutside(sessions);
      const all = [...(await outsidePeers(ctx)), ...(await ownPeers(ctx))];
      return all.filter((peer) => peer.id !== query.exclude_id && isIn(peer, query));
    },
    send: (message) => sendFromOutside(sessions, message),
    async take(id, how) {
      const rows = await takeOutside(sessions, id, how === 'poll');
      return rows.map((row) => ({
        id: row.id,
        from_id: row.from_id,
        to_id: id,
        text: row.text,
        sent_at: toRfc3339(row.sent_at),
        delivered: 0,
      }));
    },
    ack: (ids, id) => ackOutside(sessions, ids, id),
    unregister: (id) => unregisterOutside(sessions, id),
    async tidy() {
      await reapOutside(sessions);
      await forgetOutside(sessions);
    },
    async note(what) {
      if (what.kind === 'closed') await dismissOutside(sessions);
      const needs = config.get('sessions.peersToken');
      const facts =
        what.kind === 'failed'
          ? { code: what.code }
          : what.kind === 'opened'
            ? { port: what.port, needs_token: needs }
            : {};
      const subject = { kind: 'broker', id: 'peers-port' };
      await store.tx((tx) => tx.emit({ kind: `broker.port-${what.kind}`, actor: portActor, subject, facts }));
    },
  };
}

function isIn(peer: OutsidePeerView, { scope, cwd, git_root: root }: PeersQuery): boolean {
  if (scope === 'repo' && root) return peer.git_root === root;
  return scope === 'repo' || scope === 'directory' ? peer.cwd === cwd : true;
}

async function outsidePeers(ctx: AppContext): Promise<OutsidePeerView[]> {
  return (await listOutside(ctx.sessions)).map(({ id, pid, cwd, git_root, tty, summary, ...times }) => ({
    id,
    pid,
    cwd,
    git_root,
    tty,
    summary,
    registered_at: toRfc3339(times.registered_at),
    last_seen: toRfc3339(times.last_seen_at),
  }));
}

/** Our living authors, as if each sat in the checkout that it works for: whoever lists that repository finds it. */
async function ownPeers(ctx: AppContext): Promise<OutsidePeerView[]> {
  const rows = await ctx.store.read
    .selectFrom('session')
    .leftJoin('task', 'task.id', 'session.task_id')
    .leftJoin('repository', 'repository.id', 'task.repository_id')
    .select([
      'session.endpoint_id as id',
      'session.pid as pid',
      'session.work_key as work_key',
      'session.summary as summary',
      'session.created_at as created_at',
      'session.last_seen_at as last_seen_at',
      'repository.operator_path as path',
    ])
    .where('session.role', '=', 'author')
    .where('session.state', 'in', activeStates)
    .where('session.process', '=', 'live')
    .where('session.peer_seen_at', 'is not', null)
    .orderBy('session.created_at')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    pid: row.pid ?? 0,
    cwd: row.path ?? '',
    git_root: row.path,
    tty: null,
    summary: `[Chantier ${row.work_key}] ${outsideWords(row.summary ?? '')}`.trimEnd(),
    registered_at: toRfc3339(row.created_at),
    last_seen: toRfc3339(row.last_seen_at ?? row.created_at),
  }));
}
