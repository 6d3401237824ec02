import { expect, test } from 'vitest';

import { excerptOf, findWords, parseWords, plain } from './search-words.ts';

const find = (text: string, request: string): string | undefined => {
  const shown = plain(text);
  const found = findWords(shown, parseWords(request));
  return found && excerptOf(shown, found);
};

test('blanks part words and quotes hold a phrase together; what cannot be seen is no word', () => {
  expect(parseWords('  VAT  "no such   file" vat ')).toEqual(['vat', 'no such file']);
  expect(parseWords('"open')).toEqual(['open']);
  for (const empty of ['', '  ', '""', '\u200B \u0007 \u202E']) expect(parseWords(empty)).toEqual([]);
  expect(parseWords(Array.from({ length: 40 }, (_, at) => `w${at}`).join(' '))).toHaveLength(10);
});

test('all words must occur, in any order and case, composed or not; a phrase goes over line ends', () => {
  expect(find('The Rounding\nof VAT', 'vat rounding')).toBe('The Rounding of VAT');
  expect(find('the rounding', 'vat rounding')).toBeUndefined();
  expect(find('no such\n   file', '"no such file"')).toBe('no such file');
  expect(find('no file such', '"such file"')).toBeUndefined();
  expect(find('cafe\u0301 ÉTÉ', 'CAF\u00C9 e\u0301te\u0301')).toBe('café ÉTÉ');
  expect(find('ΟΔΟΣ', 'οδος')).toBe('ΟΔΟΣ');
  // Lower case of this letter is longer than itself: places would no longer fit.
  expect(find('İİİ and then needle', 'NEEDLE')).toBe('İİİ and then needle');
});

test('neither control sequences nor invisible or direction-changing characters hide a word or reach an excerpt', () => {
  expect(find('se\u200Bc\u001B[31mret\u202E \u001B]0;title\u0007here\u0000', 'secret here')).toBe('secret here');
  expect(find('a\u2028b', 'a b')).toBe('a b');
  expect(find('\uD800needle\uDC00', 'needle')).toBe('needle');
});

test('a letter with thousands of marks costs no more than any text', () => {
  const marks = Array.from({ length: 16_000 }, (_, at) => (at % 2 ? '\u0301' : '\u0323')).join('');
  const began = performance.now();
  expect(find(`a${marks} needle`, 'needle')).toContain('needle');
  expect(performance.now() - began).toBeLessThan(500);
});

test('an excerpt begins shortly before the first hit, is bounded and says where it was cut', () => {
  const excerpt = find(`${'before '.repeat(100)}needle ${'after '.repeat(100)}`, 'needle') ?? '';
  expect(excerpt).toMatch(/^…before .*needle after .*…$/);
  expect(excerpt.length).toBeLessThan(250);
});
