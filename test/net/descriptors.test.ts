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
