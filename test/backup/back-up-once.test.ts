import { readdir, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type BackupEvent, backUpOnce, describeBackups, type ProfileSource } from '../../src/backup/index.ts';
import { DeadlineExceeded } from '../../src/base/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { type ArchiveBench, inPieces, openArchive, ROUTER, START_MS, thrownBy } from './archive-bench.ts';

type Answer = string | Error | (() => Promise<string>);

/** An error as a source throws it. */
const failure = (code: string, isAnswered: boolean) =>
  new RouterReadError(code, `It was ${code}`, { disposition: 'retry', isAnswered });
const GONE = failure('connect', false);
const REFUSED = failure('http', true);

interface Run {
  /** The result, or what was thrown. */
  readonly result: unknown;
  /** Type and profile of each event. */
  readonly events: readonly string[];
  readonly causes: readonly unknown[];
  /** Profiles that were downloaded. */
  readonly asked: readonly string[];
}

/** One backup of a router with these profiles, or whose list fails. */
async function backUp(
  bench: ArchiveBench,
  profiles: Readonly<Record<string, Answer>> | Error,
  signal = new AbortController().signal,
): Promise<Run> {
  const events: BackupEvent[] = [];
  const asked: string[] = [];
  const source: ProfileSource = {
    async listProfiles() {
      if (profiles instanceof Error) throw profiles;
      return Object.keys(profiles).map((name) => ({ name }));
    },
    async downloadProfile(name, { format }, consume) {
      asked.push(name);
      const answer = profiles instanceof Error ? profiles : (profiles[name] ?? REFUSED);
      if (answer instanceof Error) throw answer;
      return consume(inPieces(`${format} ${typeof answer === 'string' ? answer : await answer()}`));
    },
  };
  const options = { router: ROUTER, source, archive: bench.archive, format: 'ascii', reason: 'schedule' } as const;
  const result = await backUpOnce({ ...options, report: (event) => events.push(event) }, signal).catch(
    (cause: unknown) => cause,
  );
  return {
    result,
    events: events.map(({ type, profile }) => `${type} ${profile}`),
    causes: events.flatMap((event) => (event.type === 'profile-failed' ? [event.cause] : [])),
    asked,
  };
}

/** The facts about backups as `family{profile} value`. */
async function facts(bench: ArchiveBench): Promise<readonly string[]> {
  const families = await describeBackups(bench.reopen(), ROUTER);
  return families.flatMap(({ name, samples }) =>
    samples.map(({ labels, value }) => `${name.replace('router_backup_', '')} ${labels['profile']} ${value}`),
  );
}

describe('backUpOnce()', () => {
  test('downloads every profile, keeps what is new and reports it', async () => {
    await using bench = await openArchive();
    const first = await backUp(bench, { Profile: 'a', spare: 'b' });
    expect(first.result).toEqual({ kept: 2, unchanged: 0, failed: 0 });
    expect(first.events).toEqual(['profile-kept Profile', 'profile-kept spare']);
    const second = await backUp(bench, { Profile: 'a', spare: 'B' });
    expect(second.result).toEqual({ kept: 1, unchanged: 1, failed: 0 });
    expect(second.events).toEqual(['profile-unchanged Profile', 'profile-kept spare']);
  });

  test('reports the file and the checksum of a new version', async () => {
    await using bench = await openArchive();
    const events: BackupEvent[] = [];
    const source: ProfileSource = {
      listProfiles: async () => [{ name: 'Profile' }],
      downloadProfile: (_name, _options, consume) => consume(inPieces('hostname="plc"')),
    };
    const options = { router: ROUTER, source, archive: bench.archive, format: 'binary', reason: 'change' } as const;
    await backUpOnce({ ...options, report: (event) => events.push(event) }, new AbortController().signal);
    const [version] = await bench.versions();
    expect(version).toMatchObject({ format: 'binary', reason: 'change', bytes: 14 });
    const { file, sha256 } = version ?? {};
    expect(events).toEqual([
      { type: 'profile-kept', router: ROUTER, profile: 'Profile', reason: 'change', file, bytes: 14, sha256 },
    ]);
  });

  test('goes on after a profile that the router refuses or that cannot be kept', async () => {
    await using bench = await openArchive();
    const run = await backUp(bench, { a: REFUSED, b: REFUSED, c: '<html>', d: 'd' });
    expect(run.result).toEqual({ kept: 2, unchanged: 0, failed: 2 });
    expect(run.events).toEqual(['profile-failed a', 'profile-failed b', 'profile-kept c', 'profile-kept d']);
    expect(run.causes).toEqual([REFUSED, REFUSED]);
  });

  test('goes on after one profile that gets no answer, which may be alone with that', async () => {
    await using bench = await openArchive();
    const run = await backUp(bench, { a: GONE, b: 'b', c: failure('timeout', false), d: 'd' });
    expect(run.result).toEqual({ kept: 2, unchanged: 0, failed: 2 });
    expect(run.asked).toEqual(['a', 'b', 'c', 'd']);
  });

  test('ends when two in a row get no answer, and counts the rest as failed', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2', c: '3', d: '4' });
    const run = await backUp(bench, { a: '1', b: GONE, c: GONE, d: '4' });
    expect(run.result).toBe(GONE);
    expect(run.asked).toEqual(['a', 'b', 'c']);
    expect(run.events).toEqual(['profile-unchanged a', 'profile-failed b', 'profile-failed c', 'profile-failed d']);
    expect((await facts(bench)).filter((fact) => fact.startsWith('success'))).toEqual([
      'success a 1',
      'success b 0',
      'success c 0',
      'success d 0',
    ]);
  });

  test('asks for nothing more when the byte budget ends within a download', async () => {
    await using bench = await openArchive();
    const spent = failure('budget', false);
    const run = await backUp(bench, { a: '1', b: spent, c: '3' });
    expect(run.result).toBe(spent);
    expect(run.asked).toEqual(['a', 'b']);
    expect(run.events).toEqual(['profile-kept a', 'profile-failed b', 'profile-failed c']);
  });

  test('rejects with the error of a list that fails, and each profile that was there has failed', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2' });
    const run = await backUp(bench, GONE);
    expect(run.result).toBe(GONE);
    expect(run.events).toEqual(['profile-failed a', 'profile-failed b']);
    expect(await facts(bench)).toContain('success b 0');
  });

  test('goes on after a profile that has no folder to be written to', async () => {
    await using bench = await openArchive();
    await backUp(bench, { Profile: '1', b: '2' });
    const folder = await bench.folder();
    await rm(folder, { recursive: true });
    await writeFile(folder, 'a file of some person');
    const run = await backUp(bench, { Profile: '1', b: '2' });
    expect(run.result).toEqual({ kept: 0, unchanged: 1, failed: 1 });
    expect(run.causes).toMatchObject([{ name: 'BackupError', code: 'write' }]);
  });

  test('ends when two in a row cannot be written, without downloading the rest', async () => {
    await using bench = await openArchive();
    const blocked = async () => {
      await rm(bench.path, { recursive: true, force: true });
      await writeFile(bench.path, 'the disk is gone');
      return '1';
    };
    const run = await backUp(bench, { a: blocked, b: '2', c: '3' });
    expect(run.result).toMatchObject({ name: 'BackupError', code: 'write' });
    expect(run.asked).toEqual(['a', 'b']);
    expect(run.events).toEqual(['profile-failed a', 'profile-failed b', 'profile-failed c']);
  });

  test('rejects without a download when the folder cannot be read', async () => {
    await using bench = await openArchive();
    await writeFile(bench.path, 'a file');
    const run = await backUp(bench, { a: '1' });
    expect(run).toMatchObject({ result: { name: 'BackupError', code: 'read' }, asked: [] });
  });

  test('rejects with the reason of an agent that ends, and nothing has failed by that', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2' });
    const end = new AbortController();
    const run = await backUp(
      bench,
      {
        a: async () => {
          end.abort('the end');
          throw new RangeError('cut');
        },
        b: '2',
      },
      end.signal,
    );
    expect(run).toMatchObject({ result: 'the end', events: [], asked: ['a'] });
    expect(await facts(bench)).toContain('success a 1');
  });

  test('counts what a deadline cuts off as failed', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2' });
    const late = new AbortController();
    const reason = new DeadlineExceeded(60_000);
    const slow = async () => {
      late.abort(reason);
      throw reason;
    };
    const run = await backUp(bench, { a: slow, b: '2' }, late.signal);
    expect(run).toMatchObject({ result: reason, events: ['profile-failed a', 'profile-failed b'], asked: ['a'] });
  });

  test('downloads a profile once that the list names twice', async () => {
    await using bench = await openArchive();
    let downloads = 0;
    const source: ProfileSource = {
      listProfiles: async () => [{ name: 'a' }, { name: 'a' }],
      downloadProfile: (_name, _options, consume) => {
        downloads++;
        return consume(inPieces('x'));
      },
    };
    const options = { router: ROUTER, source, archive: bench.archive, format: 'ascii', reason: 'schedule' } as const;
    await backUpOnce({ ...options, report: () => {} }, new AbortController().signal);
    expect(downloads).toBe(1);
  });

  test('refuses names that are none and leaves no trace of them', async () => {
    await using bench = await openArchive();
    const long = 'x'.repeat(257);
    const run = await backUp(bench, { '': 'a', [long]: 'b', [long.slice(1)]: 'c' });
    expect(run.result).toEqual({ kept: 1, unchanged: 0, failed: 2 });
    expect(run.asked).toEqual([long.slice(1)]);
    expect(run.causes).toMatchObject([{ code: 'bad-name' }, { code: 'bad-name' }]);
    expect(await readdir(`${bench.path}/${ROUTER}`)).toHaveLength(1);
  });

  test('bounds the folders of a router that makes up names, and goes on with the profiles that have one', async () => {
    await using bench = await openArchive();
    const made = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 'a']));
    await backUp(bench, made('old', 60));
    const run = await backUp(bench, { ...made('new', 60), old1: 'b' });
    expect(run.result).toEqual({ kept: 41, unchanged: 0, failed: 20 });
    expect(run.events.at(-1)).toBe('profile-kept old1');
    expect(run.causes[0]).toMatchObject({ code: 'too-many', disposition: 'operator' });
    expect(await readdir(`${bench.path}/${ROUTER}`)).toHaveLength(100);
  });
});

describe('describeBackups()', () => {
  test('says for each profile when it was last found whole, whether the last backup succeeded, and how many versions there are', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2' });
    await bench.clock.advance(1500);
    await backUp(bench, { a: '1', b: REFUSED });
    await bench.clock.advance(1000);
    await backUp(bench, { a: '3', b: REFUSED, c: REFUSED });
    const startSeconds = START_MS / 1000;
    expect(await facts(bench)).toEqual([
      `last_success_timestamp_seconds a ${startSeconds + 2.5}`,
      `last_success_timestamp_seconds b ${startSeconds}`,
      'success a 1',
      'success b 0',
      'success c 0',
      'versions a 2',
      'versions b 1',
      'versions c 0',
    ]);
  });

  test('says nothing but the versions of a profile that the router no longer has, until it comes back', async () => {
    await using bench = await openArchive();
    await backUp(bench, { a: '1', b: '2' });
    await backUp(bench, { b: '2' });
    const about = async (profile: string) => (await facts(bench)).filter((fact) => fact.includes(` ${profile} `));
    expect(await about('a')).toEqual(['versions a 1']);
    expect(await about('b')).toHaveLength(3);
    await backUp(bench, GONE);
    expect(await about('a')).toEqual(['versions a 1']);
    await backUp(bench, { a: '1', b: '2' });
    expect(await about('a')).toHaveLength(3);
  });

  test('says nothing about a router without backups', async () => {
    await using bench = await openArchive();
    expect(
      (await describeBackups(bench.archive, ROUTER)).map(({ name, type, samples }) => [name, type, samples]),
    ).toEqual([
      ['router_backup_last_success_timestamp_seconds', 'gauge', []],
      ['router_backup_success', 'gauge', []],
      ['router_backup_versions', 'gauge', []],
    ]);
  });

  test('rejects when the folder cannot be read', async () => {
    await using bench = await openArchive();
    await writeFile(bench.path, 'a file');
    expect(await thrownBy(describeBackups(bench.archive, ROUTER))).toMatchObject({ code: 'read' });
  });
});
