import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { claimDescriptor } from '../../src/net/index.ts';

test('claimDescriptor() gives none of the last descriptors, counts claims until they end, and opens nothing', () => {
  const release = claimDescriptor();
  expect(release).toBeDefined();
  release?.();
  const module = new URL('../../src/net/descriptors.ts', import.meta.url).href;
  // Of 64 descriptors, about 20 are taken by Node.js itself.
  const script = `import { claimDescriptor } from '${module}';
    const claims = [];
    for (let claim = claimDescriptor(30); claim && claims.length < 64; claim = claimDescriptor(30)) claims.push(claim);
    const none = claimDescriptor(30);
    claims[0]();
    claims[0]();
    const [again, more] = [claimDescriptor(30), claimDescriptor(30)];
    console.log(claims.length > 0 && claims.length < 30, none, typeof again, more, claimDescriptor(60));`;
  const args = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script];
  const { status, stdout } = spawnSync('bash', args, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, 'true undefined function undefined undefined\n']);
});

test('claimDescriptor() looks for many descriptors at once, so that the next connections need no look', () => {
  const module = new URL('../../src/net/descriptors.ts', import.meta.url).href;
  const script = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    let opened = 0;
    const { openSync } = fs;
    fs.openSync = (...args) => { opened++; return openSync(...args); };
    syncBuiltinESMExports();
    const { claimDescriptor } = await import('${module}');
    for (let connections = 0; connections < 60; connections++) claimDescriptor()();
    console.log(opened);`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(status).toBe(0);
  // One look for all, or a few on a machine that stops for a while; each connection by itself would have opened 29.
  expect(Number(stdout)).toBeGreaterThan(0);
  expect(Number(stdout)).toBeLessThan((60 * 29) / 2);
});
