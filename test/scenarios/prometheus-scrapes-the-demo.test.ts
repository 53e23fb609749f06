import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { startRouterExporter } from '../support/child.ts';
import { startPrometheus } from '../support/prometheus-server.ts';
import { withPrograms } from '../support/tools.ts';

// The programs come in one package.
withPrograms(['prometheus', 'promtool'], test)(
  'a Prometheus that scrapes the demo sees three routers up, and promtool finds no fault in its metrics',
  async () => {
    await using demo = startRouterExporter('demo', '--routers', '3', '--web.listen-address', '127.0.0.1:0');
    const [, target = ''] = await demo.waitFor('stderr', /Metrics\s+http:\/\/(\S+)\/metrics/);
    await using server = await startPrometheus({
      job_name: 'demo',
      scrape_interval: '1s',
      static_configs: [{ targets: [target] }],
    });
    await expect.poll(() => server.count('count(router_up == 1)')).toBe(3);
    expect(await server.count('count(router_up{router=~"sim-[123]"})')).toBe(3);
    expect(await server.targets()).toMatchObject([{ health: 'up', lastError: '' }]);

    // From here on there are metrics of rotated logs, too.
    await demo.waitFor('stdout', /\.bz2/);
    const response = await fetch(`http://${target}/metrics`);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: await response.text(),
      encoding: 'utf8',
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  },
);
