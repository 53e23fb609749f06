import {
  compareNaturally,
  createSystemClock,
  isPlainObject,
  parseJson,
  readString,
  renderBytes,
  renderLength,
  renderMany,
} from '../base/index.ts';
import { type AgentFlags, askAgent } from './support/agent-client.ts';
import { type CommandIo, cutToWidth, EXIT, type ExitCode, renderJson, renderTable, writeResult } from './support/io.ts';

interface FleetFlags extends AgentFlags {
  readonly state: readonly string[];
  readonly json?: boolean | undefined;
}

/** `fleet`: lists the routers of a running agent as a table, worst first, or as the JSON of `/api/v1/routers`. */
export function fleet(flags: FleetFlags, io: CommandIo): Promise<ExitCode> {
  const request = { method: 'GET', path: '/api/v1/routers', accept: 'application/json' } as const;
  return askAgent(flags, request, io, async ({ status, text }) => {
    const listed = status === 200 ? parseRouters(text) : undefined;
    if (!listed) {
      io.stderr.write(`The agent answered with status ${status}, and without a list of routers\n`);
      return EXIT.failed;
    }
    const isWanted = (router: Router) =>
      flags.state.length === 0 ||
      flags.state.includes(toText(router, 'state')) ||
      flags.state.includes(toLifecycle(router));
    const routers = listed.filter(isWanted);
    const nowMs = createSystemClock().now();
    const header = ['ROUTER', 'STATE', 'FOR', 'FIRMWARE', 'OPERATOR', 'SIGNAL', 'LOG LAG', 'ADDRESS', 'REASON'];
    const rows = routers.toSorted(compareUrgency).map((router) => toRow(router, nowMs));
    const table = cutToWidth(`${renderTable(header, rows)}${renderSums(routers)}\n`, io.stdout);
    await writeResult(flags.json ? renderJson({ routers }) : table, io);
    return EXIT.done;
  });
}

type Router = Readonly<Record<string, unknown>>;

/** `degraded`: up, but a part of the last poll failed. */
const URGENCY = ['down', 'budget', 'unknown', 'degraded', 'up', 'paused', 'retired'];

function toCondition(router: Router): string {
  const state = toText(router, 'state');
  return state === 'up' && isPlainObject(router['fault']) ? 'degraded' : state;
}

/** Equally urgent routers in the natural order of their names. */
function compareUrgency(a: Router, b: Router): number {
  const [rankA = 0, rankB = 0] = [a, b].map((router) => URGENCY.indexOf(toCondition(router)));
  return rankA - rankB || compareNaturally(toText(a, 'name'), toText(b, 'name'));
}

function renderSums(routers: readonly Router[]): string {
  const groups = Object.groupBy(routers, toCondition);
  const counts = URGENCY.flatMap((condition) => (groups[condition] ? `${groups[condition].length} ${condition}` : []));
  const bytes = routers.reduce((sum, router) => sum + Number(router['bytesToday'] ?? 0), 0);
  return `${[renderMany(routers.length, 'router'), ...counts].join(', ')}; ${renderBytes(bytes)} today`;
}

function parseRouters(text: string): readonly Router[] | undefined {
  const answer = parseJson(text);
  const list = isPlainObject(answer) ? answer['routers'] : undefined;
  return Array.isArray(list) ? list.filter(isPlainObject) : undefined;
}

function toRow(router: Router, nowMs: number): readonly string[] {
  const device = toMap(router, 'device');
  const signal = toMap(device, 'signal');
  const since = Date.parse(toText(router, 'since'));
  const lifecycle = toLifecycle(router);
  const state = toText(router, 'state');
  const lag = router['logLagSeconds'];
  return [
    toText(router, 'name'),
    lifecycle === 'maintenance' ? `${state} (maintenance)` : state,
    Number.isNaN(since) ? '' : renderLength(Math.max(0, Math.floor((nowMs - since) / 1000))),
    toText(router, 'firmware'),
    toText(device, 'operator'),
    typeof signal['value'] === 'number' ? `${signal['value']} ${toText(signal, 'kind')}` : '',
    typeof lag === 'number' ? renderLength(Math.floor(lag)) : '',
    toText(router, 'url'),
    toText(toMap(router, 'failure'), 'error') || toText(toMap(router, 'fault'), 'error'),
  ];
}

function toLifecycle(router: Router): string {
  return toText(toMap(router, 'lifecycle'), 'state');
}

function toMap(map: Router, key: string): Router {
  const value = map[key];
  return isPlainObject(value) ? value : {};
}

function toText(map: Router, key: string): string {
  return readString(map, key) ?? '';
}
