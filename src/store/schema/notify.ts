/** One thing that one receiver is told about until it is settled: the open questions of a session, one decision, one alert (S-35). */
export interface NoticeRow {
  id: string;
  /** `webhook`, or `telegram:<id of the owner>`. */
  target: string;
  /** `questions:<session>`, `decision:<id>` or `alert:<event id>`. */
  subject: string;
  is_critical: number;
  /** Epoch ms from which the reminders count. */
  opened_at: number;
  /** Messages so far. */
  told: number;
  /** JSON list: ids of the decisions that the last message named. */
  told_ids: string;
  /** Epoch ms of the next message. */
  next_at: number;
  last_sent_at: number | null;
}

/** One message to a receiver: written before it is sent, so that it is repeated under its key and not doubled. */
export interface NoticeMessageRow {
  /** Handed to the receiver. */
  key: string;
  target: string;
  /** JSON list of `{ id, ids, isNew }`: the notices it tells and the decisions of each. */
  notices: string;
  /** JSON list: decisions that an answer or a button of this message may settle, in order. */
  decisions: string;
  state: 'sending' | 'sent';
  /** The receiver's own name of the message. */
  remote_id: string | null;
  created_at: number;
  sent_at: number | null;
}

/** How a receiver does, over restarts. */
export interface NotifyTargetRow {
  target: string;
  /** Highest `seq` of the event log that was looked through for alerts. */
  cursor: number;
  /** Failures in a row. */
  failures: number;
  /** Epoch ms before which nothing is tried. */
  retry_at: number | null;
  /** One sentence without secrets. */
  last_error: string | null;
  last_error_at: number | null;
  last_ok_at: number | null;
}

/** A Telegram user who decides as an operator: a credential (design section 4). */
export interface TelegramOwnerRow {
  /** Numeric id of the user at Telegram. */
  telegram_id: string;
  user_id: string;
  added_by: string;
  created_at: number;
}

/** Tables of `app/notify`. */
export interface NotifySchema {
  notice: NoticeRow;
  notice_message: NoticeMessageRow;
  notify_target: NotifyTargetRow;
  telegram_owner: TelegramOwnerRow;
}
