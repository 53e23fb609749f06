/**
 * How long the main thread of the agent is held up by files of routers: 10,000 routers that arrive in a watched file, again as they
 * are changed, a trial of a reload that would change them all, and YAML that is made to be slow. `node bench/loading.ts [routers] [runs]`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { StepTable } from './step-table.ts';
import { startWatchedAgent } from './watched-agent.ts';

const ROUTERS = Number(process.argv[2] ?? 10_000);
const RUNS = Number(process.argv[3] ?? 1);
const MEBIBYTE = 1024 ** 2;

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
  ['routers of one name', '- {name: a, url: "https://a"}\n', MEBIBYTE],
  ['keys without values', 'a:\n', MEBIBYTE],
  ['lists without end', '- [,\n', MEBIBYTE],
  ['brackets', '{', MEBIBYTE],
  ['lists in lists', '- ', MEBIBYTE],
  ['keys of keys', '? ', MEBIBYTE],
  ['one long text', 'x', 15 * MEBIBYTE],
];

const table = new StepTable();
for (let run = 0; run < RUNS; run++) await measureRun();
process.stdout.write(table.render());

async function measureRun(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'loading-'));
  const routersFile = join(folder, 'routers.yaml');
  const configFile = join(folder, 'router-exporter.yaml');
  const write = (text: string) => writeFileSync(routersFile, text);
  const writeConfig = (interval: string) =>
    writeFileSync(
      configFile,
      `web: { listen: ["127.0.0.1:0"] }
storage: { path: ${folder}/data }
defaults: { username: u, password: correct-horse, poll: { interval: ${interval}, stale_after: 3h } }
router_files: [routers.yaml]
`,
    );
  write('[]');
  writeConfig('1h');
  const agent = startWatchedAgent(configFile, table);
  try {
    const { urls = [] } = await agent.waitFor('Started');
    const count = ROUTERS.toLocaleString('en');
    await agent.measure(`${count} routers arrive`, () => write(renderRouters('a')));
    await agent.measure('the same with one more', () =>
      write(`${renderRouters('a')}- { name: b, url: "https://127.0.0.1:9" }\n`),
    );
    await agent.measure('all of them change', () => write(renderRouters('b')));
    await agent.measureWork('a trial that would change all of them', async () => {
      writeConfig('59m');
      const answer = await fetch(`${urls[0]}/-/reload?dry_run=1`, {
        method: 'POST',
        headers: { accept: 'application/json' },
      });
      const { routers } = (await answer.json()) as {
        readonly routers?: { readonly changed: { readonly count: number } };
      };
      return `~${routers?.changed.count}, not applied`;
    });
    await agent.measureWork('the page of that, once the agent tried it', async () => {
      const page = await waitForText(`${urls[0]}/config`, 'What a reload would change');
      return `${(page.length / 1024).toFixed(0)} KiB of HTML`;
    });
    writeConfig('1h');
    for (const [what, part, bytes] of HOSTILE) await agent.measure(what, () => write(part.repeat(bytes / part.length)));
    await agent.measure('all of them go', () => write('[]'));
  } finally {
    agent[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Asks for a page until it holds a text, and returns it. */
async function waitForText(url: string, text: string): Promise<string> {
  for (;;) {
    const page = await (await fetch(url)).text();
    if (page.includes(text)) return page;
    await setTimeout(500);
  }
}
