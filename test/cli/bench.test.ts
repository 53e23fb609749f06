import { expect, test } from 'vitest';
import { findLagBound, parseAgentFigures } from '../../src/cli/bench/bench.ts';
import { startRouterExporter } from '../support/child.ts';

const METRICS = (polls: number, lags: readonly [late: number, later: number, all: number]) => `# TYPE x counter
process_cpu_seconds_total 2.5
process_resident_memory_bytes 1048576
router_exporter_polls_total{result="success"} ${polls}
router_exporter_polls_total{result="failure"} 1
router_exporter_schedule_lag_seconds_bucket{le="0.1"} ${lags[0]}
router_exporter_schedule_lag_seconds_bucket{le="1"} ${lags[1]}
router_exporter_schedule_lag_seconds_bucket{le="+Inf"} ${lags[2]}
`;

test('bench reads its figures from the metrics of the agent', () => {
  const { lags, ...figures } = parseAgentFigures(METRICS(40, [1, 2, 3]));
  expect(figures).toEqual({ processorSeconds: 2.5, residentBytes: 1_048_576, polls: 41 });
  expect([...lags]).toEqual([
    [0.1, 1],
    [1, 2],
    [Infinity, 3],
  ]);
});

test.for<[lags: [number, number, number], bound: number | undefined]>([
  [[199, 200, 200], 0.1],
  [[180, 199, 200], 1],
  [[180, 190, 200], Infinity],
  // All that was late was so before the measurement.
  [[0, 50, 100], undefined],
])('bench counts only the lags of the measurement: %j', ([lags, bound]) => {
  const before = parseAgentFigures(METRICS(1, [0, 50, 100]));
  const [late, later, all] = lags;
  const after = parseAgentFigures(METRICS(2, bound === undefined ? lags : [late, later + 50, all + 100]));
  expect(findLagBound(before, after)).toBe(bound);
});

test('bench measures the agent as it is shipped, and reports the machine and each number of routers', async () => {
  await using program = startRouterExporter('bench', '--routers', '2', '--interval', '300ms', '--for', '600ms');
  const { code, stdout, stderr } = await program.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('Interval 300ms, 0 ms from request to answer');
  expect(stdout).toMatch(/\n\nStopped at 2 routers: .+\n$/);
  // How many are up at the end depends on what else the machine does.
  const [routers, pollsPerSecond, processor] = /^ +(\d+) +([\d.]+) +(\d+) %.*MiB +\d\b/m.exec(stdout)?.slice(1) ?? [];
  expect(routers).toBe('2');
  expect(Number(pollsPerSecond)).toBeGreaterThan(0);
  expect(Number(processor)).toBeGreaterThan(0);
});

test('bench prints a table in Markdown, starting with the requested number of routers', async () => {
  const flags = ['--from', '1', '--routers', '2', '--interval', '300ms', '--for', '300ms', '--no-logs', '--markdown'];
  await using program = startRouterExporter('bench', ...flags);
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\| Routers \|.*\n\|(?:---:\|){6}---\|\n\| 1 \|(?:.*\n\| 2 \|)?/m);
});

test('bench-routers alone is wrong usage', async () => {
  await using program = startRouterExporter('bench-routers');
  expect(await program.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('bench, which starts it') });
});
