import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { claimDescriptor } from '../../src/net/index.ts';

const MODULE = new URL('../../src/net/descriptors.ts', import.meta.url).href;

/** Runs a script in a process with 64 descriptors, about 20 of which Node.js takes itself; returns exit code and output. */
function runLimited(script: string) {
  const args = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', script];
  const { status, stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
  return [status, stdout, stderr];
}

/** A system that counts the open files of a process, and an older one, where they are listed. */
const COUNTS = [
  ['counts open files', ''],
  ['lists open files', 'fs.statSync = () => ({ size: 0 });'],
] as const;

test.for(COUNTS)(
  'claimDescriptor() gives none of the last descriptors, and counts claims until they end, where the system %s',
  ([, change]) => {
    const release = claimDescriptor();
    expect(release).toBeDefined();
    release?.();
    const script = `import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      ${change}
      syncBuiltinESMExports();
      const { claimDescriptor } = await import('${MODULE}');
      const claims = [];
      for (let claim = claimDescriptor(30); claim && claims.length < 64; claim = claimDescriptor(30)) claims.push(claim);
      const none = claimDescriptor(30);
      claims[0]();
      claims[0]();
      const [again, more] = [claimDescriptor(30), claimDescriptor(30)];
      console.log(claims.length > 0 && claims.length < 30, none, typeof again, more, claimDescriptor(60));`;
    expect(runLimited(script)).toEqual([0, 'true undefined function undefined undefined\n', '']);
  },
);

test('claimDescriptor() looks for many descriptors at once, so that the next connections need no look', () => {
  const script = `import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    let looks = 0;
    const { statSync } = fs;
    fs.statSync = (...args) => { looks++; return statSync(...args); };
    syncBuiltinESMExports();
    const { claimDescriptor } = await import('${MODULE}');
    for (let connections = 0; connections < 60; connections++) claimDescriptor()();
    console.log(looks);`;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(status).toBe(0);
  // One look for all, or a few on a machine that stops for a while.
  expect(Number(stdout)).toBeGreaterThan(0);
  expect(Number(stdout)).toBeLessThan(30);
});

test('claimDescriptor() goes by the limit of now, also where that leaves none to read it with', () => {
  const script = `import { execFileSync } from 'node:child_process';
    import { closeSync, openSync } from 'node:fs';
    const { claimDescriptor } = await import('${MODULE}');
    const count = (limit) => {
      execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=' + limit + ':']);
      const claims = [];
      for (let claim = claimDescriptor(); claim && claims.length < 1000; claim = claimDescriptor()) claims.push(claim);
      for (const release of claims) release();
      return claims.length;
    };
    const few = count(80);
    const held = [];
    try { for (;;) held.push(openSync('/dev/null', 'r')); } catch {}
    const none = claimDescriptor();
    for (const one of held) closeSync(one);
    const [some, fewAgain] = [count(400), count(80)];
    console.log(few > 0 && few < 80, none, some > 200 && some < 400, fewAgain === few);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  expect([status, stdout, stderr]).toEqual([0, 'true undefined true true\n', '']);
});

test('claimDescriptor() leaves other threads the files that they open at the same time, also where nearly none is free', () => {
  const thread = `import { closeSync, openSync } from 'node:fs';
    import { parentPort, workerData } from 'node:worker_threads';
    let refused = 0;
    parentPort.postMessage('ready');
    for (let files = 0; Atomics.load(workerData, 0) === 0; files++) {
      try { closeSync(openSync('/dev/null', 'r')); } catch { refused++; }
    }
    parentPort.postMessage(refused);`;
  const script = `import { Worker } from 'node:worker_threads';
    import { claimDescriptor } from '${MODULE}';
    const isOver = new Int32Array(new SharedArrayBuffer(4));
    const thread = new Worker(${JSON.stringify(thread)}, { eval: true, workerData: isOver });
    const ask = () => new Promise((resolve) => thread.once('message', resolve));
    await ask();
    const claims = [];
    for (let times = 0; times < 2_000; times++) {
      const claim = claimDescriptor();
      if (claim) claims.push(claim);
      else for (const release of claims.splice(0)) release();
    }
    const refused = ask();
    Atomics.store(isOver, 0, 1);
    console.log(await refused);`;
  expect(runLimited(script)).toEqual([0, '0\n', '']);
});
