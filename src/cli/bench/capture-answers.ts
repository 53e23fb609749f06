import { createSteppedClock, createSystemClock } from '../../base/index.ts';
import { RouterClient } from '../../router/index.ts';
import { startSimulator } from '../../simulator/index.ts';
import { expandPath, loadShippedModules, SHIPPED_MODULES_FOLDER } from '../../status/index.ts';

/** Bodies of the answers of a simulated router by path; two for a resource that changes from poll to poll. */
type CapturedAnswers = Readonly<Record<string, readonly string[]>>;

/** Number of models in the simulator, of which the one with the most cards is used. */
const MODELS = 3;
/** Share of the resources that change from poll to poll, as in life. */
const CHANGING_SHARE = 1 / 3;
const BETWEEN_MS = 60_000;

/**
 * Asks a simulated router for all resources of the default modules, twice with a minute between. Of those that differ, as many
 * are kept in both forms as change in life.
 */
export async function captureAnswers(): Promise<CapturedAnswers> {
  const shipped = await loadShippedModules(SHIPPED_MODULES_FOLDER);
  const modules = shipped.ok ? shipped.modules.filter(({ isDefault }) => isDefault) : [];
  const names = modules.flatMap(({ definition }) => definition.resources.flatMap(({ path }) => expandPath(path)));
  const paths = new Set(names.map((name) => (name.startsWith('/') ? name : `/status/${name}`)));
  const clock = createSteppedClock(createSystemClock().now());
  await using simulator = await startSimulator({ routers: MODELS, clock, seed: 1 });
  const { caPem } = simulator;
  const captures = await Promise.all(
    simulator.routers.map(async ({ url }) => {
      const router = new RouterClient({ url, username: 'monitor', password: 'simulated', tls: { caPem } });
      return { router, first: await readAll(router, paths) };
    }),
  );
  await clock.advance(BETWEEN_MS);
  const [largest] = captures.toSorted((a, b) => b.first.size - a.first.size);
  if (!largest) return {};
  const second = await readAll(largest.router, paths);
  await Promise.all(captures.map(({ router }) => router.close()));
  const differing = [...largest.first].filter(([path, body]) => (second.get(path) ?? body) !== body);
  const changing = new Set(differing.slice(0, Math.round(largest.first.size * CHANGING_SHARE)).map(([path]) => path));
  return Object.fromEntries(
    [...largest.first].map(([path, body]) => [path, changing.has(path) ? [body, second.get(path) ?? body] : [body]]),
  );
}

async function readAll(router: RouterClient, paths: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const bodies = new Map<string, string>();
  for (const path of paths) {
    const { status, bytes } = await router.call({ method: 'GET', path });
    if (status === 200) bodies.set(path, Buffer.from(bytes).toString());
  }
  return bodies;
}
