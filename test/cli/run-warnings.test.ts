import { mkdtempDisposable, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from './run-command.ts';

test('run reports the warnings of its configuration once, in the log and on the page, and what a reload of a changed file would do', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-warnings-'));
  const file = join(folder.path, 'router-exporter.yaml');
  /** Each router but the first has the URL of another one, which is warned of. */
  const write = (names: readonly string[]) =>
    writeFile(
      file,
      `web: { listen: ["127.0.0.1:0"] }
storage: { path: state }
defaults: { auth: none, modules: [], poll: { timeout: 1s } }
routers: [${names.map((name) => `{ name: ${name}, url: "http://127.0.0.1:1" }`).join(', ')}]
`,
    );
  await write(['a', 'b']);
  const end = new AbortController();
  let written = '';
  const ended = runCommand(['run', '--config.file', file, '--log.format', 'json', '--web.enable-lifecycle'], {
    signal: end.signal,
    onStderr: (text) => {
      written += text;
    },
  });
  const countInLog = () => written.match(/The configuration has a warning/g)?.length ?? 0;
  try {
    await expect.poll(() => written).toMatch(/"urls":\["/);
    const [, url = ''] = /"urls":\["([^"]+)"/.exec(written) ?? [];
    const readPage = async () => (await fetch(`${url}/config`)).text();
    const countOnPage = async () => (await readPage()).match(/has the same URL/g)?.length ?? 0;
    expect([countInLog(), await countOnPage()]).toEqual([1, 1]);
    expect(await readPage()).toContain('Its files have not changed since.');
    await write(['a', 'b', 'c']);
    await expect.poll(readPage, { timeout: 20_000 }).toContain('What a reload would change');
    // A configuration that is only compared warns of nothing.
    expect([countInLog(), await countOnPage()]).toEqual([1, 1]);
    expect(await (await fetch(`${url}/-/reload`, { method: 'POST' })).text()).toContain('Reloaded');
    expect([countInLog(), await countOnPage()]).toEqual([2, 2]);
  } finally {
    end.abort();
    await ended;
  }
});

test('check warns of data plans that such intervals typically exceed, once for routers with the same', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-warnings-'));
  const file = join(folder.path, 'router-exporter.yaml');
  const check = async (keys: string, sinks = '[]') => {
    await writeFile(
      file,
      `defaults: { auth: none, ${keys} }\nsinks: ${sinks}\nrouters: [{ name: a, url: "http://127.0.0.1:1" }, { name: b, url: "http://127.0.0.1:2" }]\n`,
    );
    return (await runCommand(['check', '--config.file', file])).stdout;
  };
  const plans = 'data_plans: [{ sim: "1", limit: 5GiB }, { sim: "2", limit: 250MiB }]';
  expect(await check(plans)).toContain(
    `${file}:1:1: Warning: a and 1 more: polls and readings of logs at these intervals typically cost about 288 MiB a month (status 288 MiB, logs 0 B), more than its data plan of 250 MiB; lengthen poll.interval and logs.interval, or set byte_budget\n`,
  );
  expect(await check(plans, '[{ name: console, type: stdout }]')).toContain(
    'about 453 MiB a month (status 288 MiB, logs 165 MiB)',
  );
  for (const keys of [
    '',
    `${plans}, byte_budget: 8MiB`,
    `${plans}, poll: { interval: 2m }`,
    'data_plans: [{ limit: 5GiB }]',
  ]) {
    expect(await check(keys)).not.toContain('typically');
  }
});

test('run and check warn of --web.enable-lifecycle without authentication', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-warnings-'));
  const file = join(folder.path, 'router-exporter.yaml');
  const write = (web: string) =>
    writeFile(
      file,
      `web: { ${web} }\ndefaults: { auth: none }\nstorage: { path: s }\nrouters: [{ name: a, url: "http://127.0.0.1:1" }]\n`,
    );
  const warning =
    '--web.enable-lifecycle without users and tokens: any client of :0 may reload and stop the agent; configure users or tokens, or listen only on 127.0.0.1';
  const check = async (...flags: string[]) => (await runCommand(['check', '--config.file', file, ...flags])).stdout;
  await write('listen: [":0"]');
  expect(await check('--web.enable-lifecycle')).toContain(`${file}:1:1: Warning: ${warning}\n`);
  expect(await check()).not.toContain('lifecycle');
  const end = new AbortController();
  let written = '';
  await runCommand(['run', '--config.file', file, '--log.format', 'json', '--web.enable-lifecycle'], {
    signal: end.signal,
    onStderr: (text) => {
      written += text;
      if (written.includes('"urls":["')) end.abort();
    },
  });
  expect(written).toContain(warning);
  expect(written).not.toContain('Open to the network');
  for (const closed of [
    'listen: ["127.0.0.1:0", "[::1]:0", "localhost:0"]',
    'access: { tokens: [{ name: a, role: read, token: 0123456789abcdef }] }',
  ]) {
    await write(closed);
    expect(await check('--web.enable-lifecycle')).not.toContain('lifecycle');
  }
});

test('check reads the files of sources as they are, before the first run of an agent, and warns of what is refused there', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-warnings-'));
  const [file, list] = [join(folder.path, 'router-exporter.yaml'), join(folder.path, 'routers.json')];
  await writeFile(
    file,
    `storage: { path: s }
defaults: { auth: none, modules: [] }
router_sources:
  - { name: lan, type: file_sd, files: [routers.json], allowed_addresses: [10.0.0.0/8] }
`,
  );
  const check = async (...flags: string[]) => (await runCommand(['check', '--config.file', file, ...flags])).stdout;
  await writeFile(list, JSON.stringify([{ targets: ['10.0.0.1', '192.0.2.1'] }]));
  expect(await check()).toBe(
    `${file}: no faults (routers: 1, sinks: 0)
${file}: source lan (routers: 1, refused: 1)
Warning: source lan: target 2 of entry 1 of ${list}, "192.0.2.1": the URL is not allowed: its host is not in "allowed_addresses" of the source
`,
  );
  expect(JSON.parse(await check('--json'))).toMatchObject({ warnings: [], sources: [{ routers: 1, refused: 1 }] });
  await writeFile(list, '{');
  expect(await check()).toContain(
    `${file}:4:5: Warning: router_sources[0]: The list of the source "lan" cannot be read: The list cannot be used: ${list}:1:2: `,
  );
  await rm(list);
  expect(await check()).toContain('cannot be read: No file matches');
  expect(await readdir(folder.path)).toEqual(['router-exporter.yaml']);
});

test.for([
  [
    'listen: [":0"]',
    'Open to the network without users and tokens: any client of :0 may read pages, metrics and log lines',
  ],
  ['listen: ["127.0.0.1:0", "[::1]:0"]', undefined],
  ['listen: [":0"], access: { tokens: [{ name: a, role: read, token: 0123456789abcdef }] }', undefined],
] as const)('run says at the start and on each page whether anybody may read them: %s', async ([web, warning]) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-warnings-'));
  const file = join(folder.path, 'router-exporter.yaml');
  await writeFile(
    file,
    `web: { ${web} }\ndefaults: { auth: none }\nstorage: { path: s }\nrouters: [{ name: a, url: "http://127.0.0.1:1" }]\n`,
  );
  const end = new AbortController();
  let written = '';
  const ended = runCommand(['run', '--config.file', file, '--log.format', 'json'], {
    signal: end.signal,
    onStderr: (text) => {
      written += text;
    },
  });
  try {
    await expect.poll(() => written).toMatch(/"urls":\["/);
    const port = /"urls":\["[^"]*:(\d+)/.exec(written)?.[1];
    const headers = web.includes('tokens') ? { authorization: 'Bearer 0123456789abcdef' } : undefined;
    const read = async (path: string) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, headers && { headers })).text();
    const pages = await Promise.all(['/', '/sinks', '/router/a', '/config'].map(read));
    const notices = pages.map((page) => /<p class="notice">(Open to the network[^;]*)/.exec(page)?.[1]);
    expect(notices).toEqual(pages.map(() => warning));
    expect(written.match(/Open to the network/g)?.length ?? 0).toBe(warning === undefined ? 0 : 1);
    if (warning !== undefined) expect(written).toContain(warning);
  } finally {
    end.abort();
    await ended;
  }
  expect((await runCommand(['check', '--config.file', file])).stdout).not.toContain('Open to the network');
});
