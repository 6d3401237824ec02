import { describe, expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { formatDuration, judgeChange, loadConfig, parseDuration, parseSize, settingNames, settings } from './index.ts';

describe('settings', () => {
  it('take the default, then what an operator set, then the environment', () => {
    expect(loadConfig({ env: {} }).get('sessions.maxActive')).toBe(5);
    const stored = new Map([['sessions.maxActive', 7]]);
    expect(loadConfig({ env: {}, stored }).show('sessions.maxActive')).toMatchObject({ value: 7, source: 'operator' });
    const config = loadConfig({ env: { CHANTIER_MAX_ACTIVE: '9' }, stored });
    expect(config.show('sessions.maxActive')).toMatchObject({ value: 9, source: 'environment' });
  });

  it('refuse to start on a value that does not parse and name the variable (G-27)', () => {
    expect(() => loadConfig({ env: { CHANTIER_PHASE: 'three' } })).toThrow(/CHANTIER_PHASE must be a whole number/);
    expect(() => loadConfig({ env: { CHANTIER_PHASE: '5' } })).toThrow(/CHANTIER_PHASE/);
    expect(() => loadConfig({ env: {}, stored: new Map([['gate.phase', 9]]) })).toThrow(/gate\.phase/);
  });

  it('let the environment lower the operating phase but never raise it (G-23)', () => {
    const stored = new Map([['gate.phase', 3]]);
    expect(loadConfig({ env: { CHANTIER_PHASE: '1' }, stored }).get('gate.phase')).toBe(1);
    expect(loadConfig({ env: { CHANTIER_PHASE: '4' }, stored }).get('gate.phase')).toBe(3);
    expect(loadConfig({ env: { CHANTIER_PHASE: '3' } }).get('gate.phase')).toBe(1);
  });

  it('say what a change takes: what lowers safety asks for the passphrase anew', () => {
    expect(mustOk(judgeChange('sandbox', 'none')).change).toBe('fresh-proof');
    expect(mustOk(judgeChange('land.auto', 'low')).change).toBe('fresh-proof');
    expect(mustOk(judgeChange('sessions.stallTimeout', '45m'))).toMatchObject({ value: 2_700_000, change: 'operator' });
    expect(judgeChange('port', 1)).toMatchObject({ ok: false, refusal: { code: 'setting_needs_restart' } });
    expect(judgeChange('nope', 1)).toMatchObject({ ok: false, refusal: { kind: 'not-found' } });
    expect(judgeChange('sessions.startTimeout', 30)).toMatchObject({ ok: false, refusal: { kind: 'invalid' } });
  });

  it('parse every default back from how it is shown', () => {
    const config = loadConfig({ env: {} });
    for (const name of settingNames()) {
      if (settings[name].change === 'restart-only') continue;
      expect(mustOk(judgeChange(name, config.show(name).value)).value).toBe(settings[name].default);
    }
  });

  it('measure durations and sizes only with a unit', () => {
    expect(parseDuration('90s')).toBe(90_000);
    expect(parseDuration('1.5h')).toBe(5_400_000);
    expect(parseDuration('90')).toBeUndefined();
    expect(parseDuration('-1s')).toBeUndefined();
    expect(parseSize('64MiB')).toBe(67_108_864);
    expect(parseSize('64')).toBeUndefined();
    expect(formatDuration(90_000)).toBe('90s');
    expect(formatDuration(0)).toBe('0ms');
  });
});
