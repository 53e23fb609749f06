import { mkdtempDisposable, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type SecretEvent, SecretKeeper, type SecretKeeperOptions, type SecretKind } from '../../src/settings/index.ts';

const PASSWORD: SecretKind = { expected: 'the password' };

/** Letter of the state of a process; empty if there is none. */
async function readState(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
}

async function createBench(options: SecretKeeperOptions = {}) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'secret-keeper-'));
  const clock = createSteppedClock(0);
  const keeper = new SecretKeeper({ clock, ...options });
  const events: SecretEvent[] = [];
  keeper.onEvent((event) => void events.push(event));
  const path = join(folder.path, 'pw');
  const read = async (kind = PASSWORD) => {
    const found = await keeper.read({ kind: 'file', path }, kind);
    if (!found.ok) throw new RangeError(found.reason);
    return found.secret;
  };
  /** Runs a program of Node.js as a command. */
  const run = (script: string, ...args: string[]) =>
    keeper.read(
      { kind: 'command', args: [process.execPath, '-e', script, ...args], folder: folder.path },
      { ...PASSWORD, bytesMax: 64 },
    );
  return { folder, path, clock, keeper, events, read, run, [Symbol.asyncDispose]: () => folder.remove() };
}

test('SecretKeeper reads a file again when it has changed, and everybody who holds the secret has the new value', async () => {
  await using bench = await createBench();
  await writeFile(bench.path, 'first\n');
  const secret = await bench.read();
  expect(await bench.read()).toBe(secret);
  await bench.keeper.refresh();
  expect([secret.reveal(), bench.events]).toEqual(['first', []]);
  await writeFile(bench.path, 'second\r\n');
  await bench.keeper.refresh();
  expect(secret.reveal()).toBe('second');
  expect(bench.events).toEqual([{ type: 'secret-changed', name: bench.path, before: 'first' }]);
});

test('SecretKeeper keeps the value of a file that is gone, empty or wrong, and says so once', async () => {
  await using bench = await createBench();
  await writeFile(bench.path, 'first');
  const secret = await bench.read({ ...PASSWORD, isValid: (text) => !text.includes(' ') });
  const unreadable = (reason: string) => [{ type: 'secret-unreadable', name: bench.path, reason }];
  await rm(bench.path);
  await bench.keeper.refresh();
  await writeFile(bench.path, '');
  await bench.keeper.refresh();
  expect(bench.events.splice(0)).toEqual(unreadable('does not exist'));
  await writeFile(bench.path, 'first again');
  await bench.keeper.refresh();
  expect([secret.reveal(), bench.events]).toEqual(['first', []]);
  await writeFile(bench.path, 'third');
  await bench.keeper.refresh();
  await writeFile(bench.path, 'with a blank');
  await bench.keeper.refresh();
  expect(secret.reveal()).toBe('third');
  expect(bench.events.slice(1)).toEqual(unreadable('holds something else than the password'));
});

test('Secret.renew() reads it again at once, and tells whether another one is worth a try', async () => {
  await using bench = await createBench();
  await writeFile(bench.path, 'first');
  const secret = await bench.read();
  expect(await secret.renew('first')).toBe(false);
  await writeFile(bench.path, 'second');
  expect(await secret.renew('first')).toBe(true);
  // Somebody else has read it meanwhile.
  expect(await secret.renew('first')).toBe(true);
  expect(secret.reveal()).toBe('second');
});

test('SecretKeeper runs a command without a shell, again when asked, but not again at once', async () => {
  await using bench = await createBench();
  const count = join(bench.folder.path, 'count');
  await writeFile(count, '1');
  const script = 'console.log(process.argv[1] + fs.readFileSync(process.argv[2]))';
  const found = await bench.run(script, '$HOME;`id`', count);
  if (!found.ok) return expect.unreachable(found.reason);
  const { secret } = found;
  const first = '$HOME;`id`1';
  expect(secret.reveal()).toBe(first);
  await writeFile(count, '2');
  await bench.keeper.refresh();
  expect(secret.reveal()).toBe(first);
  expect(await Promise.all([secret.renew(first), secret.renew(first)])).toEqual([true, true]);
  const second = '$HOME;`id`2';
  expect(secret.reveal()).toBe(second);
  await writeFile(count, '3');
  expect(await secret.renew(second)).toBe(false);
  await bench.clock.advance(10_000);
  expect(await secret.renew(second)).toBe(true);
});

test('SecretKeeper gives a command a few variables of its environment, and no others', async () => {
  const env = { HOME: '/home/agent', LANG: 'C.UTF-8', ROUTER_PASSWORD: 'not for commands', NODE_OPTIONS: '--none' };
  await using bench = await createBench({ env });
  const found = await bench.run('console.log(Object.keys(process.env).sort().join(), process.env.HOME)');
  expect(found.ok && found.secret.reveal()).toBe('HOME,LANG /home/agent');
});

test('SecretKeeper does not wait for what a command leaves in the background, and ends it', async () => {
  await using bench = await createBench({ commandMsMax: 60_000 });
  const background = "require('child_process').spawn('sleep', ['600'], { stdio: 'inherit' })";
  const found = await bench.run(`const child = ${background}; child.unref(); console.log(child.pid)`);
  if (!found.ok) return expect.unreachable(found.reason);
  const pid = Number(found.secret.reveal());
  // A process that has ended and that nobody has waited for yet is still known.
  await expect.poll(() => readState(pid)).toMatch(/^Z|^$/);
  await using hurried = await createBench({ commandMsMax: 1000 });
  const noted = join(hurried.folder.path, 'pid');
  const slow = `fs.writeFileSync(process.argv[1], String(${background}.pid)); setInterval(() => {}, 1000)`;
  expect(await hurried.run(slow, noted)).toMatchObject({ reason: 'takes longer than 1 s' });
  const left = Number(await readFile(noted, 'utf8'));
  await expect.poll(() => readState(left)).toMatch(/^Z|^$/);
});

test('SecretKeeper keeps the newest value when a look and a refusal read a file at the same time', async () => {
  await using bench = await createBench();
  await writeFile(bench.path, 'first');
  const secret = await bench.read();
  await writeFile(bench.path, 'second');
  const look = bench.keeper.refresh();
  const renewed = secret.renew('first');
  expect(await Promise.all([look, renewed])).toEqual([undefined, true]);
  expect(secret.reveal()).toBe('second');
  expect(bench.events).toHaveLength(1);
});

test('SecretKeeper leaves a daemon that a command starts, which keeps passwords for the next time', async () => {
  await using bench = await createBench({ commandMsMax: 60_000 });
  const daemon = "require('child_process').spawn('sleep', ['600'], { stdio: 'ignore', detached: true })";
  const found = await bench.run(`const child = ${daemon}; child.unref(); console.log(child.pid)`);
  const pid = Number(found.ok && found.secret.reveal());
  expect(process.kill(pid, 0)).toBe(true);
  process.kill(pid, 'SIGKILL');
});

test('SecretKeeper runs a command once for all who read it at the same time, as a reload and a refused login do', async () => {
  await using bench = await createBench();
  const runs = join(bench.folder.path, 'runs');
  const script = "fs.appendFileSync(process.argv[1], '.'); console.log(fs.readFileSync(process.argv[1]).length)";
  const both = await Promise.all([bench.run(script, runs), bench.run(script, runs)]);
  const [secret, same] = both.map((found) => (found.ok ? found.secret : undefined));
  expect(secret?.reveal()).toBe('1');
  expect(same).toBe(secret);
  const [renewed, reloaded] = await Promise.all([secret?.renew('1'), bench.run(script, runs)]);
  expect([renewed, reloaded.ok && reloaded.secret.reveal()]).toEqual([true, '2']);
  expect(await readFile(runs, 'utf8')).toBe('..');
});

test.each([
  ['process.exit(3)', 'unreadable', 'ends with exit code 3'],
  ["process.stdout.write('x'.repeat(10_000))", 'unreadable', 'writes more than 64 bytes'],
  ["process.kill(process.pid, 'SIGTERM')", 'unreadable', 'cannot be run (a signal has ended it)'],
  ["console.error('only an error')", 'empty', 'is empty; expected the password'],
])('SecretKeeper says how a command has failed, and nothing that it wrote: %s', async (script, fault, reason) => {
  await using bench = await createBench();
  expect(await bench.run(script)).toEqual({ ok: false, fault, reason });
});

test('SecretKeeper ends a command that takes too long, and does not find one that does not exist', async () => {
  await using bench = await createBench({ commandMsMax: 100 });
  expect(await bench.run('setInterval(() => {}, 1000)')).toMatchObject({ reason: 'takes longer than 0.1 s' });
  const origin = { kind: 'command', args: ['/nonexistent/program'], folder: bench.folder.path } as const;
  expect(await bench.keeper.read(origin, PASSWORD)).toMatchObject({ reason: 'cannot be run (ENOENT)' });
});

test('SecretKeeper does not count what a command says of itself, and refuses arguments that no program can have', async () => {
  await using bench = await createBench();
  const found = await bench.run("console.error('x'.repeat(10_000)); console.log('pw')");
  expect(found.ok && found.secret.reveal()).toBe('pw');
  expect(await bench.run('', 'hush\0hush')).toEqual({
    ok: false,
    fault: 'unreadable',
    reason: 'cannot be run (ERR_INVALID_ARG_VALUE)',
  });
});
