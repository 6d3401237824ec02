import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { createInstance, type Instance } from '../e2e/instance.ts';

let instance: Instance;
beforeAll(async () => {
  instance = createInstance();
  await instance.up();
});
afterAll(() => instance?.dispose());

it('the served document is valid OpenAPI 3.1 by the specification’s own schema (design 8)', async () => {
  const document = await instance.get('/api/openapi.json');
  const judge = new Validator();
  const { valid, errors } = await judge.validate(structuredClone(document));
  expect(errors ?? []).toEqual([]);
  expect([valid, judge.version]).toEqual([true, '3.1']);
  expect(Object.keys(document.paths).length).toBeGreaterThan(30);
});

it('the judge bites: a document without a title is refused', async () => {
  const { info: _, ...document } = await instance.get('/api/openapi.json');
  expect(await new Validator().validate(document)).toMatchObject({ valid: false });
});

it('every reference of the document leads to something in it', async () => {
  const document = await instance.get('/api/openapi.json');
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, path]) => path!);
  expect(references.length).toBeGreaterThan(0);
  expect([...new Set(references)].filter((path) => !leadsSomewhere(document, path))).toEqual([]);
});

function leadsSomewhere(document: object, reference: string): boolean {
  const steps = reference.replace(/^#\//, '').split('/');
  let place: unknown = document;
  for (const step of steps) place = (place as Record<string, unknown> | undefined)?.[step];
  return place !== undefined;
}
