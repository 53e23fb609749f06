import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { startProgram, startRouterExporter } from '../support/child.ts';
import { withPrograms } from '../support/tools.ts';

const SCRIPT = fileURLToPath(new URL('../curl-walk.sh', import.meta.url));

withPrograms(['curl'], describe)('curl walks the interface', () => {
  test('curl alone logs in, reads, adds, changes, deletes, refreshes and logs out', async () => {
    await using files = await openFolder();
    const ca = join(files.folder, 'ca.pem');
    await using routers = startRouterExporter('simulate', '--routers=1', '--listen=127.0.0.1:0', '--ca-out', ca);
    await routers.waitFor('stdout', /Ctrl-C ends/);
    const [, url = ''] = /^sim-1 +(https:\S+)/.exec(routers.stdout) ?? [];
    await using walk = startProgram('bash', [SCRIPT, url, ca]);
    const { code, stdout, stderr } = await walk.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\nDone: all \d+ steps were answered as they should be\.\n$/);
  });

  test('the script fails where an answer is not what it should be', async () => {
    await using files = await openFolder();
    const ca = join(files.folder, 'ca.pem');
    const flags = ['--routers=1', '--listen=127.0.0.1:0', '--ca-out', ca, '--fault=forbidden'];
    await using routers = startRouterExporter('simulate', ...flags);
    await routers.waitFor('stdout', /Ctrl-C ends/);
    const [, url = ''] = /^sim-1 +(https:\S+)/.exec(routers.stdout) ?? [];
    await using walk = startProgram('bash', [SCRIPT, url, ca]);
    const { code, stderr } = await walk.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^FAILED in step 1: GET \S+ was answered with 403 instead of 401/);
  });
});

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'router-exporter-test-'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}
