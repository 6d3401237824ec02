import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { sha256 } from '../kernel/index.ts';
import { makeVisible, maxPreviewLength, previewOf } from './preview.ts';
import { redactSecrets } from './redact.ts';

describe('attack 16, field case 42: a preview hides nothing', () => {
  it.each([
    ['bidi', 'rm \u202Etxt.exe', 'rm \\u{202E}txt.exe'],
    ['zero width', 'git\u200B push', 'git\\u{200B} push'],
    ['escape sequence', 'ls\u001B[2K', 'ls\\u{001B}[2K'],
    ['carriage return', 'safe\revil', 'safe\\u{000D}evil'],
    ['no-break and filler spaces', 'a\u00A0b\u3164c\u2800d', 'a\\u{00A0}b\\u{3164}c\\u{2800}d'],
    ['tags and variation selectors', 'a\u{E0041}b\uFE0Fc', 'a\\u{E0041}b\\u{FE0F}c'],
    ['padding', `ls${' '.repeat(200)}; rm -rf /`, 'ls[200 spaces]; rm -rf /'],
    ['line feeds', 'ls\n\n\n\n\n\nrm', 'ls[6 line feeds]rm'],
    ['tab', 'a\tb', 'a⇥b'],
    ['lone surrogate', 'a\uD800b', 'a\\u{D800}b'],
  ])('%s', (_name, text, shown) => expect(makeVisible(text)).toBe(shown));

  it('keeps every character that a screen shows', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'abc ./-"\'$;é日') }), (text) => {
        fc.pre(!/ {17}/.test(text));
        expect(makeVisible(text)).toBe(text);
      }),
    );
  });

  it('no argument can pose as another one', () => {
    const { text } = previewOf({ description: 'fine\ncommand: ls', command: 'rm -rf /' }, '');
    expect(text).toBe('description: fine\n  command: ls\ncommand: rm -rf /');
    expect(previewOf({ 'x\ncommand: ls #': 1 }, '').text).toBe(String.raw`"x\ncommand: ls #": 1`);
  });

  it('says length and hash of the whole, and that it is not whole', () => {
    const long = `echo ${'a '.repeat(20_000)}; rm -rf /`;
    const preview = previewOf({ command: long }, '');
    expect(preview).toMatchObject({ isComplete: false, length: long.length + 'command: '.length, hasArguments: true });
    expect(preview.text.length).toBeLessThanOrEqual(maxPreviewLength + 1);
    expect(preview.hash).toBe(sha256(JSON.stringify({ command: long })));
    expect(previewOf(undefined, 'npm test')).toMatchObject({ text: 'npm test', hasArguments: false, isComplete: true });
  });

  it('takes a large or hostile text in linear time', () => {
    const texts = [
      'x'.repeat(4_000_000),
      'token '.repeat(100_000),
      'eyJ-'.repeat(100_000),
      'git '.repeat(100_000),
      '-----BEGIN '.repeat(50_000),
    ];
    const started = performance.now();
    for (const text of texts) previewOf({ command: text }, '');
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

describe('decision 8: the redactor', () => {
  it.each([
    ['export API_KEY=abcd1234efgh', 'export API_KEY=[secret, 12 characters]'],
    [
      'curl -H "Authorization: Bearer abc.def-123456789" https://x.test',
      'curl -H "Authorization: Bearer [secret, 17 characters]" https://x.test',
    ],
    ['git push https://user:s3cr3t@host.test/a.git', 'git push https://user:[secret, 6 characters]@host.test/a.git'],
    ['{"password": "hunter22"}', '{"password": "[secret, 8 characters]"}'],
    ['AKIAABCDEFGHIJKLMNOP', '[secret, 20 characters]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----; rm x', '[secret, 65 characters]; rm x'],
  ])('masks %s', (text, masked) => expect(redactSecrets(text).text).toBe(masked));

  it.each([
    'TOKEN=x; rm -rf /',
    'password=$(rm -rf /home)',
    'cat secret/notes.txt',
    'SECRET_FILE=/etc/passwd cmd',
    'token --force',
    'rm -rf token /home/me',
    'npm token revoke abcdef',
    'ls ~/.ssh',
    'password= shutdown now',
    'token:\nshutdown now',
    'password\nabc12345678xyz',
  ])('never masks a command or a path: %s', (text) => expect(redactSecrets(text)).toEqual({ text, maskedCount: 0 }));

  it('never takes a shell operator, a substitution or a path away', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            'password=',
            'token ',
            'abc12345678xyz',
            '; ',
            '$(',
            ' rm -rf ',
            '/home/x',
            ')',
            '"',
            ' | ',
            ' & ',
            'API_KEY: ',
            '\n',
          ),
          { maxLength: 12 },
        ),
        (parts) => {
          const text = parts.join('');
          const { text: masked } = redactSecrets(text);
          for (const kept of [/[;|&$()\n"]/g, /rm -rf /g])
            expect(masked.match(kept)?.length ?? 0).toBe(text.match(kept)?.length ?? 0);
          expect(redactSecrets(text).text).toBe(masked);
        },
      ),
      { numRuns: 500 },
    );
  });
});
