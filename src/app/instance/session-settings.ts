import type { Config } from '../../config/index.ts';
import { defaultSessionSettings, type SessionSettings } from '../../sessions/index.ts';

/** The numbers of the sessions part as the settings have them now. */
export function sessionSettings(config: Config): SessionSettings {
  return {
    ...defaultSessionSettings,
    workKeys: config.get('sessions.workKeys'),
    maxActive: config.get('sessions.maxActive'),
    maxReviewers: config.get('review.maxReviewers'),
    quotaCounts: config.get('sessions.quotaCounts') as SessionSettings['quotaCounts'],
    startDetectionTimeoutMs: config.get('sessions.startTimeout'),
    firstLivenessTimeoutMs: config.get('sessions.livenessTimeout'),
    hungTimeoutMs: config.get('sessions.hungTimeout'),
    journalKeepBytes: config.get('sessions.journalKeep'),
    stallTimeoutMs: config.get('sessions.stallTimeout'),
    idempotencyTtlMs: config.get('idempotency.ttl'),
    cycleMs: config.get('sessions.pollInterval'),
  };
}
