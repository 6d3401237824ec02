import type { Json } from '../../../kernel/index.ts';
import { isRecord, textOf } from '../read-json.ts';

/** What is to happen next for the permission mode. */
export type ModeStep =
  | { kind: 'safe' }
  | { kind: 'set'; method: 'session/set_mode' | 'session/set_config_option'; params: Record<string, Json> }
  | { kind: 'wait' }
  | { kind: 'unsafe'; reason: string };

/**
 * The permission mode of a conversation: what is wanted, what the agent says it is, and how to get from one to the other
 * (decision 3). Agents say it as `modes`, as a configuration option of the category "mode", or both; the option is
 * preferred, since the answer to setting it states the value.
 */
export class ModeCheck {
  readonly #wanted: string | null;
  #current: string | null = null;
  #available: string[] = [];
  #optionId: string | undefined;
  #hasModes = false;
  #wasSet = false;

  /** `wanted` null: the agent's own configuration decides and nothing is checked. */
  constructor(wanted: string | null) {
    this.#wanted = wanted;
  }

  get current(): string | null {
    return this.#current;
  }

  get isSafe(): boolean {
    return this.#wanted === null || this.#current === this.#wanted;
  }

  /** Whether the mode was set and is now waited for. */
  get isReadingBack(): boolean {
    return this.#wasSet && !this.isSafe;
  }

  /** Reads `modes` and `configOptions` of a session response, an option response or an update; missing ones change nothing. */
  read(value: Record<string, unknown>): void {
    if (isRecord(value.modes)) this.#readModes(value.modes);
    if (Array.isArray(value.configOptions)) this.#readOptions(value.configOptions);
    const current = textOf(value.currentModeId);
    if (current !== undefined) this.#current = current;
  }

  /** We asked the agent to set it; seen in the file, so that it is asked once. */
  noteSet(): void {
    this.#wasSet = true;
  }

  next(sessionId: string): ModeStep {
    const wanted = this.#wanted;
    if (wanted === null || this.isSafe) return { kind: 'safe' };
    if (!this.#hasModes) return { kind: 'unsafe', reason: `the agent has no permission modes, "${wanted}" was wanted` };
    if (!this.#available.includes(wanted))
      return { kind: 'unsafe', reason: `the agent has no mode "${wanted}"; it offers ${this.#available.join(', ')}` };
    if (this.#wasSet) return { kind: 'wait' };
    if (this.#optionId === undefined)
      return { kind: 'set', method: 'session/set_mode', params: { sessionId, modeId: wanted } };
    const params = { sessionId, configId: this.#optionId, value: wanted };
    return { kind: 'set', method: 'session/set_config_option', params };
  }

  #readModes(modes: Record<string, unknown>): void {
    this.#hasModes = true;
    this.#current = textOf(modes.currentModeId) ?? this.#current;
    if (Array.isArray(modes.availableModes)) this.#available = idsIn(modes.availableModes, 'id');
  }

  #readOptions(options: unknown[]): void {
    const option = options.filter(isRecord).find((each) => each.category === 'mode' && Array.isArray(each.options));
    if (!option) return;
    this.#hasModes = true;
    this.#optionId = textOf(option.id);
    this.#current = textOf(option.currentValue) ?? this.#current;
    const groups = (option.options as unknown[]).filter(isRecord);
    this.#available = groups.flatMap((each) =>
      Array.isArray(each.options) ? idsIn(each.options, 'value') : idsIn([each], 'value'),
    );
  }
}

function idsIn(list: unknown[], member: string): string[] {
  return list.filter(isRecord).flatMap((each) => textOf(each[member]) ?? []);
}
