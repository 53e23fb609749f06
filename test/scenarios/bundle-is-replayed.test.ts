import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSteppedClock } from '../../src/base/index.ts';
import { type SimulatedRouter, startSimulator } from '../../src/simulator/index.ts';
import { readBundleContent, readSeries, replay, writeBundleConfig, writeBundles } from '../support/bundles.ts';

const START_MS = Date.UTC(2026, 10, 21, 12, 0, 0);
/** All models of the simulator. */
const MODELS = 6;
/** Values of the agent's own requests, and of its clock. */
const OWN =
  /^router_(?:api_|clock_offset|config_hash|connections|last_success|poll_duration|request|resource_(?:age|duration)|tls_)/;

/** Splits a series into its name, its labels and their values. */
function parseSeries(series: string) {
  const labels = [...series.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  const names = labels.map(([, name]) => name).join();
  return { shape: `${series.split('{')[0]}{${names}}`, values: labels.map(([, , value]) => value ?? '') };
}

/** Holds two exports against each other: the same series in the same order, with label values that are equal or masked. */
function compare(original: ReadonlyMap<string, string>, replayed: ReadonlyMap<string, string>) {
  const [before, after] = [[...original], [...replayed]];
  expect(after.map(([series]) => parseSeries(series).shape)).toEqual(
    before.map(([series]) => parseSeries(series).shape),
  );
  const masks = new Map<string, string>();
  for (const [index, [series, value]] of before.entries()) {
    const [replayedSeries = '', replayedValue] = after[index] ?? [];
    const [from, to] = [parseSeries(series).values, parseSeries(replayedSeries).values];
    const router = from[0] ?? '';
    for (const [position, text] of from.entries()) {
      const mask = masks.get(`${router} ${text}`) ?? to[position] ?? '';
      masks.set(`${router} ${text}`, mask);
      expect([series, to[position]]).toEqual([series, mask]);
    }
    if (!OWN.test(series)) expect([series, replayedValue]).toEqual([series, value]);
  }
  expect(new Set(masks.values()).size).toBeGreaterThan(20);
  return [...masks].filter(([text, mask]) => !text.endsWith(` ${mask}`)).map(([text]) => text);
}

test('bundles of all models, replayed, give the series of the routers, up to the masks', {
  timeout: 180_000,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-replay-'));
  await using simulator = await startSimulator({
    routers: MODELS,
    clock: createSteppedClock(START_MS),
    seed: 7,
    logs: { compressionMs: 0 },
  });
  for (const router of simulator.routers) {
    router.appendLog('network', 'wan1: connection check failed', 'wan');
    router.rotate('network');
  }
  const files = await writeBundles(simulator, folder.path);
  const original = await readSeries(folder.path, join(folder.path, 'router-exporter.yaml'));
  await using other = await mkdtempDisposable(join(tmpdir(), 'router-exporter-replay-'));
  await replay(other.path, files, async (routers) => {
    const replayed = await readSeries(other.path, await writeBundleConfig(other.path, routers));
    const masked = compare(original, replayed);
    expect(masked).toContain(`sim-1 ${simulator.routers[0]?.serial}`);
    expect(masked).not.toContain('sim-1 net1');
  });
});

test('a replayed router lacks, refuses, fails and delays what the device did', { timeout: 120_000 }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-replay-'));
  await using simulator = await startSimulator({ routers: 3, clock: createSteppedClock(START_MS), seed: 7 });
  const [first, second] = simulator.routers as [SimulatedRouter, SimulatedRouter];
  first.setStatus('power2', { isAbsent: true });
  await first.fault('http_500', { path: '/status/ethernet1' });
  await first.fault('html_200', { path: '/status/sysstat/wan' });
  await second.fault('hang', { path: '/status/ethernet1' });
  const account = { account: 'status' };
  const files = await writeBundles(simulator, folder.path, [], account);
  const original = await readSeries(folder.path, join(folder.path, 'router-exporter.yaml'));
  const slow = await readBundleContent(files[2] ?? '');
  const answers = slow.answers.map((one) => ({
    ...one,
    ...(one.path === '/status/device_info' && { duration_ms: 700 }),
  }));
  await writeFile(files[2] ?? '', JSON.stringify({ ...slow, answers }));
  await using other = await mkdtempDisposable(join(tmpdir(), 'router-exporter-replay-'));
  await replay(other.path, files, async (routers) => {
    const replayed = await readSeries(other.path, await writeBundleConfig(other.path, routers));
    compare(original, replayed);
    const delay = Number(replayed.get('router_resource_duration_seconds{router="sim-3",resource="device_info"}'));
    expect(delay).toBeGreaterThanOrEqual(0.69);
    expect(replayed.get('router_resource_permitted{router="sim-3",resource="profiles"}')).toBe('0');
    expect(replayed.get('router_resource_up{router="sim-1",resource="ethernet1"}')).toBe('0');
    expect(replayed.get('router_resource_up{router="sim-1",resource="sysstat/wan"}')).toBe('0');
    expect(replayed.get('router_resource_up{router="sim-2",resource="ethernet1"}')).toBe('0');
    expect(replayed.get('router_resource_up{router="sim-1",resource="lte2"}')).toBe('1');
  });
});
