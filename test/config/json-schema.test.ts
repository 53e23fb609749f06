import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderJsonSchema } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

const schema = JSON.parse(renderJsonSchema());
const validate = new Ajv({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true }).compile(
  schema,
);

/** The places at which an editor would underline something. */
function problemsOf(text: string): string[] {
  validate(parse(text));
  return [
    ...new Set(
      (validate.errors ?? []).map(({ instancePath, params }) => instancePath + (params['additionalProperty'] ?? '')),
    ),
  ];
}

describe('renderJsonSchema()', () => {
  it('names its draft, and has a description at every key', () => {
    expect(schema).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#', title: 'router-exporter.yaml' });
    expect(schema.properties.defaults.properties.poll.properties.interval).toEqual({
      type: 'string',
      description: 'Interval between cycles.',
      default: '1m',
    });
  });

  it('offers the keys of each type of sink', () => {
    const { oneOf } = schema.properties.sinks.items;
    const words = oneOf.map((variant: { properties: { type: { const?: string } } }) => variant.properties.type.const);
    expect(words).toEqual(['stdout', 'file', 'http', 'loki', 'elasticsearch', 'otlp', 'syslog', 'nats', undefined]);
    expect(oneOf[3].properties.tenant.description).toBe('Tenant, sent as `X-Scope-OrgID`.');
    expect(oneOf[3].required).toEqual(['name', 'type', 'url']);
    expect(Object.keys(oneOf[0].properties)).not.toContain('path');
  });

  it('has nothing in it that only the reference needs', () => {
    expect(renderJsonSchema()).not.toMatch(/"(kind|advanced)"/);
  });

  it.for(['every-key.yaml', '../../docs/router-exporter.example.yaml'])(
    'accepts %s, environment variables included',
    async (file) => {
      expect(problemsOf(await readFile(new URL(file, import.meta.url), 'utf8'))).toEqual([]);
    },
  );

  it('accepts a format where it has one value', () => {
    const sink = (format: string) =>
      `sinks: [{ name: a, type: loki, url: "http://a", format: ${format} }]\n${withRouter()}`;
    expect(problemsOf(sink('native'))).toEqual([]);
    expect(problemsOf(sink('ecs'))).not.toEqual([]);
  });

  it.each([
    ['only routers', withRouter()],
    [
      'log rules and patterns, both as text and as maps',
      `log_rules: [default, "\${RULES}", { name: a_total, help: A., type: counter, pattern: a }]\nredact: [a, { pattern: b }]\n${withRouter()}`,
    ],
    ['only files of routers', 'router_files: [a.yaml]'],
    [
      'secrets in every form',
      'defaults: { password: { file: a }, bearer_token: { command: [a, b] }, headers: { A: a, B: { file: b } } }\nrouters: []',
    ],
    [
      'sinks of several types, and one whose type the environment knows',
      'sinks: [{ name: a, type: stdout }, { name: b, type: nats, servers: [a], batch: { wait: 0, records: "5" } }, { name: c, type: loki, url: "${URL}", max_age: 0, headers: { A: "${A}" } }, { name: d, type: "${TYPE}", path: a }]\nrouters: []',
    ],
    [
      'numbers and flags as text',
      'backup: { keep: "3" }\nstorage: { spool_max: 2097152 }\ndefaults: { tls: { insecure_skip_verify: "true" } }\nrouters: []',
    ],
    [
      'references to the environment',
      'defaults: { auth: "${AUTH}" }\nbackup: { keep: "${KEEP}", format: "${F:-ascii}" }\nrouters: [{ name: "${NAME}", url: "${URL}", logs: { components: ["${C}"] } }]',
    ],
  ])('accepts %s', (_, text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  it.each([
    ['a misspelt key', withRouter('timezon: UTC'), ['/routers/0timezon']],
    ['a missing key', 'routers: [{ name: a }]', ['/routers/0']],
    ['no router at all', 'sinks: []', ['']],
    ['another word', withRouter('auth: tokn'), ['/routers/0/auth']],
    ['a secret in another form', withRouter('bearer_token: { path: a }'), ['/routers/0/bearer_token']],
    ['a name with a blank', 'routers: [{ name: "a b", url: "http://a" }]', ['/routers/0/name']],
    ['a number for a duration', withRouter('poll: { interval: 60 }'), ['/routers/0/poll/interval']],
    ['text for a list', withRouter('modules: default'), ['/routers/0/modules']],
    ['a number outside of its bounds', 'backup: { keep: 0 }\nrouters: []', ['/backup/keep']],
    [
      'a metric without its type',
      'modules: { a: { resources: [{ path: x, metrics: [{ name: x, help: x }] }] } }\nrouters: []',
      ['/modules/a/resources/0/metrics/0'],
    ],
    ['another word among log rules', `log_rules: [defaults]\n${withRouter()}`, ['/log_rules/0']],
    ['a log rule without its pattern', `log_rules: [{ name: a, help: A. }]\n${withRouter()}`, ['/log_rules/0']],
    ['a number for a pattern', `redact: [7]\n${withRouter()}`, ['/redact/0']],
    ['a sink without its type', `sinks: [{ name: a }]\n${withRouter()}`, ['/sinks/0']],
    ['a sink of another type', `sinks: [{ name: a, type: lokki }]\n${withRouter()}`, ['/sinks/0/type']],
    ['a key of another type', `sinks: [{ name: a, type: stdout, path: b }]\n${withRouter()}`, ['/sinks/0path']],
    ['a sink without its address', `sinks: [{ name: a, type: http }]\n${withRouter()}`, ['/sinks/0']],
    [
      'a format that the type does not have',
      `sinks: [{ name: a, type: otlp, url: "http://a", format: ecs }]\n${withRouter()}`,
      ['/sinks/0/format'],
    ],
    ['a label name that is none', withRouter('labels: { "a-b": x }'), ['/routers/0/labels']],
    ['a router name as a default', `defaults: { name: a }\n${withRouter()}`, ['/defaultsname']],
  ])('refuses %s, as check does', async (_, text, places) => {
    expect(problemsOf(text).filter((place) => places.includes(place))).toEqual(places);
    expect((await load(text)).lines).not.toEqual([]);
  });
});
