export type { Config, SettingSource, ShownSetting } from './config.ts';
export { judgeChange, loadConfig, settingNames } from './config.ts';
export type { InstancePaths } from './paths.ts';
export { pathsOf } from './paths.ts';
export type { Setting, SettingChange, SettingKind, SettingValue } from './setting.ts';
export { describeKind, formatSetting, parseSetting } from './setting.ts';
export type { SettingName, SettingOf } from './settings.ts';
export { settings } from './settings.ts';
export { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';
