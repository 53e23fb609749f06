import { expect, test, vi } from 'vitest';
import { createBench } from './router-recorder-bench.ts';

test('RouterRecorder renders no series again when the logs are unchanged, and updates the reason of a failure', () => {
  const { exposition, recorder, failLogs, endLogs, metrics } = createBench();
  const publish = vi.spyOn(exposition, 'publish');
  const publishLive = vi.spyOn(exposition, 'publishLive');
  const published = () => [publish.mock.calls.length, publishLive.mock.calls.length];
  failLogs(new Error('one reason'));
  expect(published()).toEqual([1, 1]);
  failLogs(new Error('another reason'));
  expect(published()).toEqual([1, 1]);
  expect(recorder.describe().resources).toMatchObject([{ resource: 'logs', state: 'failed', error: 'another reason' }]);
  endLogs();
  endLogs();
  expect(published()).toEqual([2, 2]);
  expect(metrics()).toContain('router_resource_up{router="plant-7",resource="logs"} 1\n');
});
