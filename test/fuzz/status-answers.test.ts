import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RouterError } from '../../src/client/index.ts';
import { compileModules, mapDocument } from '../../src/status/index.ts';
import { openRouter } from '../client/http-router.ts';
import { CONTEXT } from '../status/mapping/mapping-bench.ts';
import { loadShippedModules } from '../status/shipped-modules.ts';
import { Choices, countCases, describeCases, limitMs } from './random-cases.ts';

const SHARE = { documents: 0.16, answers: 0.02 };
/** Bounds of what one document becomes. */
const SAMPLES_MAX = 8192;
const FAULTS_MAX = 256;
const DEPTH_MAX = 8;

const GOLDEN = join(import.meta.dirname, '../golden');
const RESOURCES = compileModules(loadShippedModules()).flatMap(({ resources }) => resources);
/** What simulated routers of every kind answer, with the resources of modules that read it. */
const ANSWERS = readdirSync(GOLDEN)
  .filter((name) => name.endsWith('.json'))
  .flatMap((name) => Object.entries(JSON.parse(readFileSync(join(GOLDEN, name), 'utf8')) as Record<string, unknown>))
  .map(([path, document]) => ({
    document,
    readers: RESOURCES.filter(({ definition }) => isPathOf(definition.path, path)),
  }));
const DOCUMENTS = ANSWERS.map(({ document }) => document);
const READ_ANSWERS = ANSWERS.filter(({ readers }) => readers.length > 0);
const NAMES = [...new Set(DOCUMENTS.flatMap((document) => listKeys(document, 0)))].concat(
  '__proto__',
  'constructor',
  '',
);
const VALUES: readonly unknown[] = [
  '',
  '---',
  '0',
  '-1',
  '99999999999999999999',
  '1e999',
  'NaN',
  '23.75 V',
  '45 %',
  '120 / 256 MB',
  '3 days, 04:05',
  'Online',
  'up',
  '2026-11-21 09:00:00',
  '\u0000',
  '\ud800',
  'x'.repeat(2000),
  'a\nb',
  null,
  true,
  false,
  0,
  -1,
  1e308,
  [],
  {},
  [[]],
  [null],
  { unique: {} },
];

/** Whether a path of a module, in which `*` is the number of a slot, means this resource. */
function isPathOf(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('*', '\\d+')}$`).test(path);
}

function listKeys(value: unknown, depth: number): string[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(Array.isArray(value) ? [] : [key]),
    ...listKeys(inner, depth + 1),
  ]);
}

/** A copy in which a few values, names and rows are others. */
function change(value: unknown, choices: Choices, rarity: number): unknown {
  if (choices.once(rarity)) return choices.once(3) ? choices.of(DOCUMENTS) : choices.of(VALUES);
  if (Array.isArray(value)) {
    const rows = value.map((row: unknown) => change(row, choices, rarity));
    if (choices.once(rarity)) rows.push(...rows);
    if (choices.once(rarity * 10)) return Array.from({ length: 500 }, () => rows[0]);
    return rows;
  }
  if (typeof value !== 'object' || value === null) return choices.once(rarity) ? choices.of(VALUES) : value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    choices.once(rarity * 2) ? choices.of(NAMES) : key,
    change(inner, choices, rarity),
  ]);
  // As JSON.parse makes it: a property of that name, and no other prototype.
  if (choices.once(rarity * 4))
    return JSON.parse(JSON.stringify(Object.fromEntries(entries)).replace('"name"', '"__proto__"')) as unknown;
  return Object.fromEntries(entries);
}

test(`any document becomes a bounded number of valid series or faults: ${describeCases(SHARE.documents)}`, {
  timeout: limitMs(SHARE.documents, 20),
}, () => {
  let samplesSeen = 0;
  for (let number = 0; number < countCases(SHARE.documents); number++) {
    const choices = new Choices('documents', number);
    const answer = choices.of(READ_ANSWERS);
    const document = change(answer.document, choices, choices.of([5, 30, 100]));
    const resource = choices.of(answer.readers);
    const { families, faults } = mapDocument([resource], document, CONTEXT);
    const samples = families.flatMap((family) => family.samples);
    samplesSeen += samples.length;
    const about = `case ${number}`;
    expect(samples.length, about).toBeLessThanOrEqual(SAMPLES_MAX);
    expect(faults.length, about).toBeLessThanOrEqual(FAULTS_MAX);
    for (const { labels, value } of samples) {
      if (!Number.isFinite(value)) expect(value, about).toBe(0);
      for (const text of Object.values(labels))
        if (!/^\P{Cc}{1,512}$/u.test(text)) expect(text, about).toBe('text of a label');
    }
  }
  expect(samplesSeen).toBeGreaterThan(0);
});

test(`any answer of a router becomes a document or a RouterError that says why: ${describeCases(SHARE.answers)}`, {
  timeout: limitMs(SHARE.answers, 40),
}, async () => {
  const originals = DOCUMENTS.map((document) => Buffer.from(JSON.stringify(document)));
  let answer: { status: number; headers: Record<string, string>; body: Uint8Array } = {
    status: 200,
    headers: {},
    body: Buffer.alloc(0),
  };
  await using bench = await openRouter((_request, response) => {
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  const ends = new Map<string, number>();
  for (let number = 0; number < countCases(SHARE.answers); number++) {
    const choices = new Choices('answers', number);
    const body = choices.mutate(choices.of(originals), originals);
    answer = {
      // 401 ends the session, 429 and 503 make the client wait; other tests are about these.
      status: choices.once(6) ? choices.of([200, 201, 206, 302, 304, 400, 403, 404, 405, 418, 500, 502, 599]) : 200,
      headers: choices.once(4)
        ? { 'content-type': choices.of(['text/html', 'application/json; charset=utf-16', '', '/']) }
        : {},
      body,
    };
    const end = await bench.client.readStatus('lte2').then(
      () => 'document',
      (cause: unknown) => {
        if (!(cause instanceof RouterError)) throw cause;
        expect(cause.message, `case ${number}`).toContain('lte2');
        return cause.code;
      },
    );
    ends.set(end, (ends.get(end) ?? 0) + 1);
    if (end === 'document') expect(answer.status, `case ${number}`).toBe(200);
  }
  expect([...ends.keys()]).toEqual(expect.arrayContaining(['document', 'parse']));
});
