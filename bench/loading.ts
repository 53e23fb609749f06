/**
 * How long the main thread of the agent is held up by files of routers: 10,000 routers that arrive in a watched file, again as they
 * are changed, and YAML that is made to be slow. `node bench/loading.ts [routers]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StepFigures } from './watch-steps.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const MEBIBYTE = 1024 ** 2;
const LIMIT_MS = 180_000;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Routers that nothing answers for. */
function renderRouters(site: string): string {
  const render = (index: number) =>
    `- name: plant-${index}\n  url: https://127.0.0.1:9\n  labels: { site: ${site}-${index % 50}, line: "${index % 7}" }\n`;
  return Array.from({ length: ROUTERS }, (_, index) => render(index)).join('');
}

/** Texts that are legal in size and wrong in content, `bytes` long. */
const HOSTILE: readonly (readonly [what: string, part: string, bytes: number])[] = [
  ['routers that are numbers', '- 1\n', MEBIBYTE],
  ['routers with one wrong key each', '- {a: 1}\n', 4 * MEBIBYTE],
  ['keys without values', 'a:\n', MEBIBYTE],
  ['lists without end', '- [,\n', MEBIBYTE],
  ['brackets', '{', MEBIBYTE],
  ['lists in lists', '- ', MEBIBYTE],
  ['keys of keys', '? ', MEBIBYTE],
  ['one long text', 'x', 15 * MEBIBYTE],
];

const folder = mkdtempSync(join(tmpdir(), 'loading-'));
const routersFile = join(folder, 'routers.yaml');
const write = (text: string) => writeFileSync(routersFile, text);
write('[]');
writeFileSync(
  join(folder, 'router-exporter.yaml'),
  `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data }
defaults: { username: u, password: correct-horse, poll: { interval: 1h, stale_after: 3h } }
router_files: [routers.yaml]
`,
);
const agent = spawn(
  process.execPath,
  [
    '--import',
    path('watch-steps.ts'),
    path('../src/main.ts'),
    'run',
    '--config.file',
    join(folder, 'router-exporter.yaml'),
  ],
  { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { ...process.env, WATCH_STEPS: '1' } },
);
const waiting = new Set<(message: string) => void>();
createInterface({ input: agent.stderr ?? process.stdin }).on('line', (line) => {
  const { message } = JSON.parse(line) as { message: string };
  for (const one of waiting) one(message);
});

/** Resolves with the next line of the log that begins with one of these. */
function waitFor(...messages: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new RangeError(`No "${messages.join('" or "')}"`)), LIMIT_MS);
  const look = (message: string) => {
    if (messages.some((one) => message.startsWith(one))) resolve();
  };
  waiting.add(look);
  return promise.finally(() => {
    clearTimeout(timer);
    waiting.delete(look);
  });
}

async function measure(what: string, change: () => void): Promise<void> {
  agent.send('begin');
  const begunMs = performance.now();
  const done = waitFor('Loaded the configuration again', 'The configuration was not loaded again');
  change();
  await done;
  const seconds = (performance.now() - begunMs) / 1000;
  const { maxMs, p99Ms, peakMiB } = await readFigures(agent);
  const figures = [`longest step ${maxMs.toFixed(1)} ms`, `p99 ${p99Ms.toFixed(1)} ms`, `${seconds.toFixed(1)} s`];
  process.stdout.write(`${what.padEnd(40)} ${figures.join(', ')}, peak ${peakMiB.toFixed(0)} MiB\n`);
}

async function readFigures(child: ChildProcess): Promise<StepFigures> {
  const answer = once(child, 'message');
  child.send('end');
  const [figures] = (await answer) as [StepFigures];
  return figures;
}

try {
  await waitFor('Started');
  const count = ROUTERS.toLocaleString('en');
  await measure(`${count} routers arrive`, () => write(renderRouters('a')));
  await measure('the same with one more', () =>
    write(`${renderRouters('a')}- { name: b, url: "https://127.0.0.1:9" }\n`),
  );
  await measure('all of them change', () => write(renderRouters('b')));
  for (const [what, part, bytes] of HOSTILE) await measure(what, () => write(part.repeat(bytes / part.length)));
  await measure('all of them go', () => write('[]'));
} finally {
  agent.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
