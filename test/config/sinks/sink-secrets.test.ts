// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../../src/base/index.ts';
import { ConfigFiles, checkSettings, secret, section } from '../../../src/settings/index.ts';
import { describeValue, listSecretKeys } from '../../../src/settings/schema/secret-keys.ts';
import { SINKS } from '../../../src/sinks/types/list.ts';
import { countRuns } from '../../support/sampled.ts';
import { load, type Surroundings, withRouter } from '../configuration-folder.ts';

const SECRET = 'hunter2hunter2';
const HTTP = 'type: http, url: "https://a"';
const SEARCH = 'type: elasticsearch, url: "https://a"';

/** Every text that a person could get to see. */
async function textOf(text: string, around: Surroundings = {}) {
  const { config, faults, lines } = await load(text, around);
  const shown = [JSON.stringify(config), inspect(config, { depth: 9, showHidden: true }), JSON.stringify(faults)];
  return { config, faults, text: [...shown, ...lines].join('\n') };
}

const withSink = (keys: string) => `sinks: [{ name: a, ${keys} }]\n${withRouter()}`;

describe('loadConfig() on secrets of sinks', () => {
  it.each([
    `${HTTP}, username: u, password: ${SECRET}`,
    `${HTTP}, bearer_token: ${SECRET}`,
    `${HTTP}, bearer_token_file: f`,
    `${SEARCH}, api_key: ${SECRET}`,
    `${SEARCH}, api_key_file: f`,
    `${HTTP}, headers: { A: ${SECRET} }`,
    `${HTTP}, headers: { A: "x \${S}" }`,
    `${HTTP}, header_files: { A: f }`,
    `type: http, url: "https://a/in?_stream=s&token=${SECRET}"`,
    `type: http, url: "https://a/in?${SECRET}"`,
    'type: http, url: "https://a/in?token=${S}"',
    'type: nats, servers: [a], credentials_file: c',
  ])('keeps those of {%s} out of every string form of the configuration', async (keys) => {
    const files = { f: SECRET, c: `-BEGIN NATS USER JWT-\n${SECRET}\n-BEGIN USER NKEY SEED-` };
    const { config, text } = await textOf(withSink(keys), { files, env: { S: SECRET } });
    expect(config?.sinks).toHaveLength(1);
    expect(text).not.toContain(SECRET);
    expect(text).toContain('[secret]');
  });

  it.each([
    ['a token with a blank', `${HTTP}, bearer_token: "${SECRET} x"`],
    ['a token of a list', `${HTTP}, bearer_token: [${SECRET}]`],
    ['a token with half a reference', `${HTTP}, bearer_token: "\${${SECRET}"`],
    ['a token with what looks like a reference', `${HTTP}, bearer_token: "a\${${SECRET}}"`],
    ['an API key with a line end', `${SEARCH}, api_key: "${SECRET}\\n"`],
    ['an API key with what looks like a reference', `${SEARCH}, api_key: "a\${${SECRET}}"`],
    ['the name of a file of a token', `${HTTP}, bearer_token_file: ${SECRET}`],
    ['the name of a file of a key', `${SEARCH}, api_key_file: ${SECRET}`],
    ['the name of a file of credentials', `type: nats, servers: [a], credentials_file: ${SECRET}`],
    ['the name of a file of a header', `${HTTP}, header_files: { A: ${SECRET} }`],
    ['a header with a control character', `${HTTP}, headers: { A: "${SECRET}\\n" }`],
    ['a header of a map', `${HTTP}, headers: { A: { b: ${SECRET} } }`],
    ['a header with what looks like a reference', `${HTTP}, headers: { A: "a\${${SECRET}}" }`],
    ['a header with no space behind its colon', `${HTTP}, headers: { A:${SECRET} }`],
    ['a header with a comma instead of its colon', `${HTTP}, headers: { A, ${SECRET} }`],
    ['a header of two words with a comma instead of its colon', `${HTTP}, headers: { A, ${SECRET} x }`],
    ['a file of a header with a comma instead of its colon', `${HTTP}, header_files: { A, ${SECRET} }`],
    ['a token with no space behind its colon', `${HTTP}, bearer_token:${SECRET}`],
    ['a token with a comma instead of its colon', `${HTTP}, bearer_token, ${SECRET}`],
    ['a password in the URL', `type: loki, url: "https://u:${SECRET}@a"`],
    ['a query in the URL of another type', `type: loki, url: "https://a?b=${SECRET}"`],
    ['a query with a fragment', `type: http, url: "https://a?b=${SECRET}#c"`],
    ['a query with what looks like a reference', `type: http, url: "https://a?b=\${${SECRET}}"`],
    ['a password in a server', `type: nats, servers: ["nats://u:${SECRET}@a"]`],
    ['headers of text', `${HTTP}, headers: "A: ${SECRET}"`],
  ])('does not repeat %s', async (_, keys) => {
    const { faults, text } = await textOf(withSink(keys));
    expect(faults).not.toEqual([]);
    expect(text).not.toContain(SECRET);
  });

  it.each([
    ['a token', 'bearer_token_file: f', `${SECRET} x`],
    ['a header', 'header_files: { A: f }', `${SECRET}\nx`],
  ])('does not repeat what a file of %s holds', async (_, keys, content) => {
    const { faults, text } = await textOf(withSink(`${HTTP}, ${keys}`), { files: { f: content } });
    expect(faults).toHaveLength(1);
    expect(text).not.toContain(SECRET);
  });

  it('does not repeat a secret wherever one character of the file is wrong', async () => {
    const sound = `sinks:
- { name: a, type: http, url: "https://a", bearer_token: ${SECRET}, headers: { X-A: ${SECRET} } }
- name: b
  type: elasticsearch
  url: https://b
  api_key: ${SECRET}
  headers:
    X-B: ${SECRET}
`;
    const characters = fc.constantFrom(...' :-"\'#&*!|>%@`[]{},?\t\n\\$~<=0a'.split(''), '');
    const starts = fc.integer({ min: 0, max: sound.length - 1 });
    await fc.assert(
      fc.asyncProperty(starts, fc.boolean(), characters, async (start, isInserted, character) => {
        const broken = sound.slice(0, start) + character + sound.slice(isInserted ? start : start + 1);
        expect((await textOf(`${broken}${withRouter()}`)).text).not.toContain(SECRET);
      }),
      { numRuns: countRuns(500) },
    );
  });
});

/** Keys whose values become secrets, of every type of sink: also of one that is new. */
const SECRET_KEYS = Object.entries(SINKS).flatMap(([type, { schema }]) =>
  Object.entries<z.core.$ZodType>(schema.shape)
    .filter(([, part]) => z.safeParse(part, SECRET).data instanceof Secret)
    .map(([key]) => [type, key] as const),
);

it.each(SECRET_KEYS)('a sink of type %s never shows its key %s, however it is written', async (type, key) => {
  for (const written of [`[${SECRET}]`, `"x \${${SECRET}}"`, `{ a: ${SECRET} }`]) {
    const { faults, text } = await textOf(withSink(`type: ${type}, ${key}: ${written}`));
    expect(faults.map(({ keyPath }) => keyPath.replace('.…', ''))).toContain(`sinks[0].${key}`);
    expect(text).not.toContain(SECRET);
  }
});

/** Keys in which a secret may stand by mistake, of every type of sink. */
const PERHAPS_SECRET = Object.entries(SINKS).flatMap(([type, { schema }]) =>
  Object.keys(schema.shape)
    .filter((key) => /^(url|servers|headers|header_files)$|_file$/.test(key))
    .map((key) => [type, key] as const),
);

it.each(PERHAPS_SECRET)('a sink of type %s says of its key %s that messages must not repeat it', (type, key) => {
  const { schema } = SINKS[type as keyof typeof SINKS];
  expect(listSecretKeys(schema).isSensitive(['sinks', 0, key])).toBe(true);
});

it('hides a secret key by its schema alone, also where it is misplaced', async () => {
  const schema = section('', {
    door: section('', { pin: secret('') }),
    size: secret(''),
  });
  const root = { kind: 'map', expected: '', ifEmpty: '', schema } as const;
  await using files = new ConfigFiles();
  const file = await files.parse('a.yaml', '/a.yaml', { text: 'door: { pin: 90210 }\nsize: { pin: 90210 }' }, root);
  if (!file) return expect.unreachable('the text can be parsed');
  await checkSettings(file, {}, schema);
  expect(files.faults.map(({ keyPath }) => keyPath)).toEqual(['door.pin', 'size.…']);
  expect(JSON.stringify(files.faults)).not.toContain('90210');
  expect(describeValue(90_210, ['size', 'pin'], file.secretKeys)).toBe('a number');
});

it('knows the secret keys that there are', () => {
  expect(new Set(SECRET_KEYS.map(([, key]) => key))).toEqual(new Set(['password', 'bearer_token', 'api_key']));
});
