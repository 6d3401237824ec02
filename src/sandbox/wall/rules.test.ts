import { describe, expect, test } from 'vitest';

import { mayReach } from './addresses.ts';
import { judgeTarget, splitAuthority, type WallRule } from './rules.ts';

const rules: readonly WallRule[] = [
  { host: 'api.example.com' },
  { host: '*.packages.example.com', ports: [80, 443] },
  { host: 'model.test', ports: [8080], address: '127.0.0.1:9999' },
];

describe('the rules of the wall (X-7, sandbox attack 11)', () => {
  test.each([
    ['api.example.com', 443],
    ['API.Example.COM', 443],
    ['api.example.com.', 443],
    ['a.packages.example.com', 80],
    ['a.b.packages.example.com', 443],
    ['model.test', 8080],
  ])('lets %s:%i pass', (host, port) => {
    expect(judgeTarget(rules, host, port)).toMatchObject({ allowed: true });
  });

  test.each([
    ['evil.example.com', 443, 'host-not-named'],
    ['api.example.com.evil.test', 443, 'host-not-named'],
    ['xapi.example.com', 443, 'host-not-named'],
    ['packages.example.com', 443, 'host-not-named'],
    ['evilpackages.example.com', 443, 'host-not-named'],
    ['api.example.com', 22, 'port-not-named'],
    ['api.example.com', 80, 'port-not-named'],
    ['api.example.com', 0, 'malformed'],
    ['api.example.com', 70_000, 'malformed'],
    ['127.0.0.1', 443, 'ip-literal'],
    ['8.8.8.8', 443, 'ip-literal'],
    ['2130706433', 443, 'ip-literal'],
    ['0x7f000001', 443, 'ip-literal'],
    ['0177.0.0.1', 443, 'ip-literal'],
    ['127.1', 443, 'ip-literal'],
    ['[::1]', 443, 'ip-literal'],
    ['::1', 443, 'ip-literal'],
    ['[::ffff:127.0.0.1]', 443, 'ip-literal'],
    ['api.example.com@evil.test', 443, 'malformed'],
    ['api.example.com\0.evil.test', 443, 'malformed'],
    ['api.example.com%00.evil.test', 443, 'malformed'],
    ['api..example.com', 443, 'malformed'],
    ['аpi.example.com', 443, 'malformed'],
    ['', 443, 'malformed'],
  ])('refuses %s:%i (%s)', (host, port, reason) => {
    expect(judgeTarget(rules, host, port)).toEqual({ allowed: false, reason });
  });

  test('a rule for every name opens no address (X-7)', () => {
    expect(judgeTarget([{ host: '*' }], '134744072', 443)).toEqual({ allowed: false, reason: 'ip-literal' });
    expect(judgeTarget([{ host: '*' }], 'any.example.com', 443)).toMatchObject({ allowed: true });
  });

  test.each([
    'api.example.com',
    'api.example.com:',
    'a@b:443',
    'http://a:443',
    'a b:443',
    'a:443/x',
    ':443',
    'a:123456',
  ])('does not take %j for an authority', (authority) => {
    expect(splitAuthority(authority)).toBeUndefined();
  });
});

describe('addresses behind a name (X-7)', () => {
  test.each(['93.184.216.34', '2606:2800:220:1::1'])('%s may be reached', (address) => {
    expect(mayReach(address)).toBe(true);
  });

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.20.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'ff02::1',
    'no address',
  ])('%s may not', (address) => {
    expect(mayReach(address)).toBe(false);
  });

  test('the operator may open the own network, never this machine or the metadata of a cloud', () => {
    const own = { allowPrivate: true };
    expect(['10.1.2.3', '192.168.1.1', 'fd00::1'].map((address) => mayReach(address, own))).toEqual([true, true, true]);
    expect(['127.0.0.1', '169.254.169.254', '::1'].map((address) => mayReach(address, own))).toEqual([
      false,
      false,
      false,
    ]);
  });
});
