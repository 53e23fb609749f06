import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type SinkSettings, sinksSchema } from '../../src/sinks/index.ts';
import { readCatalogue } from '../dashboards/catalogue.ts';
import { startLivelyFleet } from '../dashboards/lively-fleet.ts';
import { createLoki } from '../receivers/loki-server.ts';
import { createServerProgram } from '../receivers/server-program.ts';
import { PROGRAM, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { startPrometheus } from '../support/prometheus-server.ts';
import { sampled, sampleNote } from '../support/sampled.ts';
import { withPrograms } from '../support/tools.ts';
import { type Page, PROJECT, parsePage, readPages } from './read-pages.ts';

/*
 * Below each query, the documentation shows what a server answers: samples and log lines as text, with their labels in
 * braces, or JSON. `…` stands for more labels, or more lines.
 */

/** Queries that have no answer here, and why. */
const UNANSWERED: Readonly<Record<string, string>> = {
  router_exporter_cluster_lease_age_seconds: 'the agent here is no replica of a cluster',
  'router_exporter_source_up == 0': 'the routers here come from no source',
  'router_exporter_source_held_removals > 0': 'the routers here come from no source',
  'router_exporter_source_refused_routers > 0': 'the routers here come from no source',
  'router_data_plan_day_bytes{router="plant-8"} / router_data_plan_day_median_bytes{router="plant-8"}':
    'the fleet here is less than a day old',
  'router_log_unshipped{router="plant-8"}': 'every log here is one',
  'router_certificate_left_seconds < 30 * 86400': 'the module of the tutorial is not here',
};

interface Example {
  readonly place: string;
  readonly language: string;
  readonly query: string;
  /** `undefined` when the page shows none. */
  readonly result: string | undefined;
}

/** Queries, and commands with a result below them that ask a receiver or read records. */
function listExamples({ path, blocks }: Page): readonly Example[] {
  return blocks.flatMap(({ language, text, line }, index) => {
    const next = blocks[index + 1];
    // One blank line is between them.
    const isBelow = next?.line === line + text.split('\n').length + 2 && /^(?:text|json)$/.test(next.language);
    const result = isBelow ? next.text.trimEnd() : undefined;
    const isQuery = /^(?:prom|log)ql$/.test(language) || (language === 'json' && /^\{\s*"(?:size|query)"/.test(text));
    const isCommand = language === 'sh' && /^(?:curl .*example\.net|jq |head )/.test(text) && result !== undefined;
    return isQuery || isCommand ? [{ place: `${path}:${line}`, language, query: text.trim(), result }] : [];
  });
}

const examples = readPages().flatMap(listExamples);

test('below every query of the documentation is its result', () => {
  const queries = examples.map(({ query }) => query);
  expect(Object.keys(UNANSWERED).filter((query) => !queries.includes(query))).toEqual([]);
  expect(examples.length).toBeGreaterThan(80);
  expect(examples.filter(({ result }) => result === undefined).map(({ place }) => place)).toEqual([]);
  const bare = parsePage('page.md', '```promql\nup\n```\n\nSome words.\n\n```text\nup{} 1\n```\n');
  expect(listExamples(bare)).toMatchObject([{ query: 'up', result: undefined }]);
});

test('the labels in a result of Prometheus are those of a metric of the query', async () => {
  const catalogue = await readCatalogue();
  const faults = examples.flatMap(({ place, language, query, result = '' }) => {
    const known = [...query.matchAll(/[\w:]+/g)].flatMap(([name]) => [...(catalogue.get(name) ?? [])]);
    if (language !== 'promql' || known.length === 0) return [];
    const labels = result.split('\n').flatMap((line) => Object.keys(parseLine(line).labels));
    return labels.filter((label) => !known.includes(label)).map((label) => `${place}: ${label}`);
  });
  expect(faults).toEqual([]);
});

interface Answer {
  readonly data: {
    readonly result: readonly {
      readonly metric?: Readonly<Record<string, string>>;
      readonly value?: readonly [number, string];
      readonly stream?: Readonly<Record<string, string>>;
      readonly values?: readonly (readonly [string, string])[];
    }[];
  };
}

/** A sample or a log line. */
interface Line {
  readonly labels: Readonly<Record<string, string>>;
  /** Name and value, or time and text. */
  readonly rest: string;
  readonly isCut?: boolean;
}

async function ask(url: string, parameters: Readonly<Record<string, string>>): Promise<readonly Line[]> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) });
  if (!answer.ok) throw new RangeError(`${parameters['query']}: ${await answer.text()}`);
  return ((await answer.json()) as Answer).data.result.flatMap(({ metric, value, stream = {}, values = [] }) => {
    const { __name__: name = '', ...labels } = metric ?? {};
    if (metric) return [{ labels, rest: `${name} ${value?.[1]}` }];
    return values.map(([time, text]) => ({
      labels: stream,
      rest: `${new Date(Number(time) / 1e6).toISOString()} ${text}`,
    }));
  });
}

function parseLine(text: string): Line {
  const [, before = '', inner = '', after = ''] = /^(.*?) ?\{(.*?)\} (.*)$/.exec(text) ?? [];
  const pairs = [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
  return { labels: Object.fromEntries(pairs), rest: `${before} ${after}`, isCut: inner.endsWith('…') };
}

/** Labels whose values are those of a fleet, or say what is wrong with it. */
const OF_FLEET = new Set([
  'details_gap_uid',
  'details_to_uid',
  'instance',
  'mode',
  'original',
  'router',
  'sink',
  'site',
]);
/** Names of routers here and on the pages. */
const NAME = /\b(?:sim|plant)-\d+\b/g;

/** Text whose numbers may be others, except, as states, 0 and 1. */
function toPattern(text: string, areStates = true): RegExp {
  const parts = text.split(/((?<![\w.-])[-+]?\d[\w.:+-]*)/).map((part, index) => {
    if (index % 2 === 0 || (areStates && /^[01]$/.test(part))) return part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    return '[-+]?\\d[\\w.:+-]*';
  });
  return new RegExp(`^${parts.join('')}$`);
}

function isLike(shown: Line, found: Line, areStates: boolean): boolean {
  const labels = Object.entries(shown.labels);
  if (!shown.isCut && labels.length !== Object.keys(found.labels).length) return false;
  if (!toPattern(shown.rest, areStates).test(found.rest)) return false;
  return labels.every(([name, value]) => {
    const known = found.labels[name];
    return (
      known !== undefined && (OF_FLEET.has(name) || value.replaceAll(/\d+/g, 'N') === known.replaceAll(/\d+/g, 'N'))
    );
  });
}

/** Paths to all values of JSON; items of a list share theirs. */
function listPaths(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [path];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([name, inner]) => listPaths(inner, isList ? `${path}[]` : `${path}.${name}`));
}

function findMissing(shown: string, found: string): readonly string[] {
  if (!shown.startsWith('{')) {
    const [expected = [], lines = []] = [shown, found].map((text) =>
      text.replaceAll(NAME, 'x').replaceAll(/ +/g, ' ').split('\n'),
    );
    return expected.filter((line) => !lines.some((one) => toPattern(line).test(one)));
  }
  const paths = new Set(listPaths(JSON.parse(found)));
  return listPaths(JSON.parse(shown)).filter((path) => !paths.has(path));
}

withPrograms(
  ['grafana-loki', 'java', 'jq', 'opensearch', 'prometheus', 'victoria-logs'],
  test.skipIf(sampled('real receivers', false, true)),
)(
  `every query of the documentation has the result that the page shows${sampleNote('real receivers')}`,
  { timeout: 600_000 },
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-results-'));
    await using loki = await createLoki();
    const searchPort = await findFreePort({ from: 9201, to: 9299 });
    const search = `http://127.0.0.1:${searchPort}`;
    await using openSearch = await createServerProgram(
      'opensearch',
      (path) => [path, String(searchPort)],
      () => fetch(`${search}/_cluster/health?wait_for_status=yellow&timeout=5s`),
    );
    const victoria = `127.0.0.1:${await findFreePort()}`;
    await using victoriaLogs = await createServerProgram(
      'victoria-logs',
      (path) => [`-storageDataPath=${path}/data`, `-httpListenAddr=${victoria}`],
      () => fetch(`http://${victoria}/health`),
    );
    await Promise.all([loki.start(), openSearch.start(), victoriaLogs.start()]);

    const adapt = (text: string) =>
      text
        .replaceAll(/https?:\/\/loki\.example\.net(:3100)?/g, loki.url)
        .replaceAll('https://search.example.net:9200', search)
        .replaceAll('logs.example.net:9428', victoria)
        .replaceAll('/var/log/routers/', '')
        .replaceAll(/plant-\d/g, 'sim-1');
    const bash = async (script: string): Promise<string> => {
      const call = `router-exporter() { "${process.execPath}" "${PROGRAM}" "$@"; }\n${adapt(script)}`;
      await using program = startProgram('bash', ['-ec', call], {}, folder.path);
      const { code, stdout, stderr } = await program.ended;
      expect(code, `${script}\n${stdout}${stderr}`).toBe(0);
      return stdout;
    };

    const sinks = [
      { name: 'loki', type: 'loki', url: loki.url },
      { name: 'search', type: 'elasticsearch', url: search },
      {
        name: 'victorialogs',
        type: 'http',
        url: `http://${victoria}/insert/jsonline?_stream_fields=router,component&_time_field=timestamp&_msg_field=message`,
      },
      { name: 'records', type: 'file', path: join(folder.path, 'records.jsonl') },
    ];
    const config = { routers: [{ name: 'sim-1', url: 'https://192.0.2.1', auth: 'none' }], sinks };
    writeFileSync(join(folder.path, 'router-exporter.yaml'), JSON.stringify(config));
    writeFileSync(join(folder.path, 'search.key'), 'unused');
    await bash(readTemplateCommand());
    // Its last minutes are those of the receivers, however often it goes on.
    const startMs = Date.now() - 120 * 60_000;
    await using fleet = await startLivelyFleet(startMs, z.parse(sinksSchema, sinks) as SinkSettings[]);
    const target = { targets: [fleet.url.replace('http://', '')] };
    const job = { job_name: 'routers', scrape_interval: '1s', static_configs: [target] };
    await using prometheus = await startPrometheus(job, readRuleGroups());

    const answer = async ({ language, query }: Example): Promise<{ lines: readonly Line[]; areStates: boolean }> => {
      const asked = query.replaceAll(/(router|sink|details_gap_uid)="[^"]*"/g, '$1=~".+"');
      if (language === 'logql') {
        const [nowMs, url] = [fleet.now(), `${loki.url}/loki/api/v1`];
        const range = { start: `${nowMs - 3 * 3_600_000}000000`, end: `${nowMs + 60_000}000000`, limit: '5000' };
        const lines = asked.startsWith('{')
          ? await ask(`${url}/query_range`, { query: asked, ...range })
          : await ask(`${url}/query`, { query: asked, time: `${nowMs}000000` });
        return { lines, areStates: true };
      }
      const url = `http://${prometheus.address}/api/v1/query`;
      const lines = await ask(url, { query: asked });
      if (lines.length > 0) return { lines, areStates: true };
      // All is well here: without the condition at its end, it has an answer of the same form.
      return { lines: await ask(url, { query: asked.replace(/ (?:[<>]=?|==) .*$/s, '') }), areStates: false };
    };
    const findFault = async (example: Example): Promise<unknown> => {
      const { place, language, query, result = '' } = example;
      const shown = result.replace(/\n…$/, '');
      if (language === 'sh') {
        const found = await bash(query);
        const missing = findMissing(shown, found);
        return missing.length > 0 ? { place, missing, found } : undefined;
      }
      if (language === 'json') {
        const headers = { 'content-type': 'application/json' };
        const url = `${search}/logs-router-default/_search`;
        const found = await (await fetch(url, { method: 'POST', headers, body: adapt(query) })).text();
        const missing = findMissing(shown, found);
        return missing.length > 0 ? { place, missing, found } : undefined;
      }
      const { lines, areStates } = await answer(example);
      const missing = shown.split('\n').filter((line) => !lines.some((one) => isLike(parseLine(line), one, areStates)));
      return missing.length > 0 ? { place, query, missing, found: lines.slice(0, 5).map(renderLine) } : undefined;
    };
    let waiting = examples.filter(({ query }) => !Object.hasOwn(UNANSWERED, query));
    await expect
      .poll(
        async () => {
          await fleet.goOn();
          const faults: unknown[] = [];
          const failed: Example[] = [];
          for (const example of waiting) {
            const fault = await findFault(example);
            if (fault === undefined) continue;
            faults.push(fault);
            failed.push(example);
          }
          waiting = failed;
          return faults;
        },
        { timeout: 120_000, interval: 1000 },
      )
      .toEqual([]);
  },
);

function renderLine({ labels, rest }: Line): string {
  const [first = '', ...others] = rest.split(' ');
  const inner = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return `${first}{${inner.join(', ')}} ${others.join(' ')}`;
}

/** The command that gives the data stream its types. */
function readTemplateCommand(): string {
  const { blocks } = parsePage('docs/sinks.md', readFileSync(join(PROJECT, 'docs/sinks.md'), 'utf8'));
  return blocks.find(({ text }) => text.includes('_index_template'))?.text ?? expect.unreachable('no such command');
}

/** Groups of the shipped rules and settings, without their intervals. */
function readRuleGroups(): readonly object[] {
  return ['rules.yaml', 'examples/settings.yaml'].flatMap((name) => {
    const text = readFileSync(join(PROJECT, 'deploy/prometheus', name), 'utf8');
    const { groups } = parse(text) as {
      readonly groups: readonly { readonly name: string; readonly rules: unknown }[];
    };
    return groups.map(({ name: group, rules }) => ({ name: group, rules }));
  });
}
