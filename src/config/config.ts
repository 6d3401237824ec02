import { Fault, ok, refuse, type Result } from '../kernel/index.ts';
import {
  describeKind,
  formatSetting,
  parseSetting,
  type Setting,
  type SettingChange,
  type SettingValue,
} from './setting.ts';
import { type SettingName, type SettingOf, settings } from './settings.ts';

export type SettingSource = 'default' | 'operator' | 'environment';

/** A setting as `chantier config` shows it. */
export interface ShownSetting {
  name: SettingName;
  value: SettingValue;
  source: SettingSource;
  default: SettingValue;
  /** What it may be, with its unit. */
  form: string;
  help: string;
  env: string | null;
  change: SettingChange;
}

/** The settings of a running instance. */
export interface Config {
  /** The value that holds now; durations in ms, sizes in bytes. */
  get<N extends SettingName>(name: N): SettingOf<N>;
  show(name: SettingName): ShownSetting;
  list(): ShownSetting[];
  /** Judges a change by a human: parsed value and what it takes, or a refusal. Nothing is changed. */
  judgeChange(
    name: string,
    given: SettingValue,
  ): Result<{ name: SettingName; value: SettingValue; change: SettingChange }>;
  /** Takes over what the operators have set (`name` → parsed value); unknown or invalid entries throw `Fault`. */
  setStored(stored: ReadonlyMap<string, SettingValue>): void;
}

/**
 * Reads the settings: defaults, then `stored` (what operators set), then `env`. Throws `Fault` `invalid_setting` for a
 * value that does not parse: an instance never starts on a guess (G-27).
 */
export function loadConfig(
  options: { env?: NodeJS.ProcessEnv; stored?: ReadonlyMap<string, SettingValue> } = {},
): Config {
  const fromEnv = readEnvironment(options.env ?? process.env);
  let stored = checkStored(options.stored ?? new Map());

  const resolve = (name: SettingName): { value: SettingValue; source: SettingSource } => {
    const own = stored.has(name)
      ? { value: stored.get(name) as SettingValue, source: 'operator' as const }
      : { value: settings[name].default as SettingValue, source: 'default' as const };
    const forced = fromEnv.get(name);
    if (forced === undefined) return own;
    // The phase is a kill-switch: the environment may only lower it (decision 10 of the gate part).
    if (name === 'gate.phase' && Number(forced) > Number(own.value)) return own;
    return { value: forced, source: 'environment' };
  };

  const show = (name: SettingName): ShownSetting => {
    const setting: Setting = settings[name];
    const { value, source } = resolve(name);
    return {
      name,
      value: formatSetting(setting, value),
      source,
      default: formatSetting(setting, setting.default),
      form: describeKind(setting.kind),
      help: setting.help,
      env: setting.env,
      change: setting.change,
    };
  };

  return {
    get: <N extends SettingName>(name: N) => resolve(name).value as SettingOf<N>,
    show,
    list: () => settingNames().map(show),
    judgeChange,
    setStored: (next) => void (stored = checkStored(next)),
  };
}

/** Every setting's name, in the order of the table. */
export function settingNames(): SettingName[] {
  return Object.keys(settings) as SettingName[];
}

/** Judges a change without an instance: what `Config.judgeChange` does. */
export function judgeChange(
  name: string,
  given: SettingValue,
): Result<{ name: SettingName; value: SettingValue; change: SettingChange }> {
  if (!isSettingName(name)) {
    return refuse('not-found', 'unknown_setting', `There is no setting ${name}; "chantier config" lists them all.`, {
      name,
    });
  }
  const setting: Setting = settings[name];
  if (setting.change === 'restart-only') {
    return refuse(
      'wrong-state',
      'setting_needs_restart',
      `The setting ${name} is read at the start only: set ${setting.env ?? 'it'} in the environment and start the server again.`,
      { name },
    );
  }
  const parsed = parseSetting(setting, given);
  if ('fault' in parsed) return refuse('invalid', 'invalid_setting', `The setting ${name} ${parsed.fault}.`, { name });
  return ok({ name, value: parsed.value, change: setting.change });
}

function readEnvironment(env: NodeJS.ProcessEnv): Map<SettingName, SettingValue> {
  const found = new Map<SettingName, SettingValue>();
  for (const name of settingNames()) {
    const setting: Setting = settings[name];
    const given = setting.env === null ? undefined : env[setting.env];
    if (given === undefined || given === '') continue;
    const parsed = parseSetting(setting, given);
    if ('fault' in parsed) {
      throw new Fault('invalid_setting', `The environment variable ${setting.env} ${parsed.fault}.`, {
        facts: { name },
      });
    }
    found.set(name, parsed.value);
  }
  return found;
}

function checkStored(stored: ReadonlyMap<string, SettingValue>): ReadonlyMap<string, SettingValue> {
  for (const [name, value] of stored) {
    if (!isSettingName(name)) throw new Fault('invalid_setting', `The store holds an unknown setting ${name}.`);
    const setting: Setting = settings[name];
    const parsed = parseSetting(setting, formatSetting(setting, value));
    if ('fault' in parsed)
      throw new Fault('invalid_setting', `The stored setting ${name} ${parsed.fault}.`, { facts: { name } });
  }
  return new Map(stored);
}

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settings, name);
}
