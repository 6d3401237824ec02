import { type SessionId, toRfc3339 } from '../kernel/index.ts';
import type { SessionRole, SessionRow } from './session-store.ts';
import type { SessionState } from './states.ts';

/** A session as other domains and ports see it. */
export interface Session {
  id: SessionId;
  workKey: string;
  projectCode: string;
  role: SessionRole;
  agent: string;
  projectId: string | null;
  taskId: string | null;
  pullRequestId: string | null;
  taskFence: number | null;
  state: SessionState;
  generation: number;
  endpointId: string;
  conversationId: string | null;
  /** Conversation that the next generation is to open again. */
  resumeConversationId: string | null;
  /** Names its work folder: its own id, or that of the session whose work it goes on with. */
  folderKey: string;
  reason: string | null;
  createdAt: number;
  endedAt: number | null;
}

export function toSession(row: SessionRow): Session {
  return {
    id: row.id as SessionId,
    workKey: row.work_key,
    projectCode: row.project_code,
    role: row.role,
    agent: row.agent,
    projectId: row.project_id,
    taskId: row.task_id,
    pullRequestId: row.pull_request_id,
    taskFence: row.task_fence,
    state: row.state,
    generation: row.generation,
    endpointId: row.endpoint_id,
    conversationId: row.conversation_id,
    resumeConversationId: row.resume_conversation_id,
    folderKey: row.folder_key ?? row.id,
    reason: row.reason,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}

/** What a command answers about a session; survives JSON, so that a replay can give it back. */
export type CommandResult = {
  session_id: string;
  work_key: string;
  state: SessionState;
  generation: number;
  at: string;
  /** The question that was answered, of `respond`. */
  escalation_id?: string;
  /** Questions still open after `respond`. */
  open_escalations?: number;
};

export function commandResult(row: SessionRow, now: number, more: Partial<CommandResult> = {}): CommandResult {
  return {
    session_id: row.id,
    work_key: row.work_key,
    state: row.state,
    generation: row.generation,
    at: toRfc3339(now),
    ...more,
  };
}
