import { DiscardPolicy } from '@nats-io/jetstream';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { initCluster } from '../../src/cluster/cluster.ts';
import { ClusterLink } from '../../src/cluster/link.ts';
import { StreamWatch } from '../../src/cluster/stream.ts';
import { Subjects } from '../../src/cluster/subjects.ts';
import { RESUME_SHARE } from '../../src/model/index.ts';
import { openNatsServer } from '../support/sinks/nats-server.ts';
import { thrownBy } from '../support/store-folder.ts';
import { withPrograms } from '../support/tools.ts';

const MIB = 1024 * 1024;
const LIMIT = { timeout: 30_000 };

/** A watch of the streams of a new cluster, over an open connection. */
async function openWatch({ bytesMax }: { readonly bytesMax: number }) {
  const server = await openNatsServer({ fileMax: '4GB' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const servers = { servers: [server.url], clock: createSystemClock(), who: 'Test', peer: 'cluster' } as const;
  const init = () => initCluster({ servers, cluster: 'test', replicas: 1, bytesMax });
  await init();
  const link = new ClusterLink(servers, () => {});
  onTestFinished(() => link.close());
  await link.ready();
  const faults: string[] = [];
  const watch = new StreamWatch({
    link,
    subjects: new Subjects('test'),
    onReady: () => {},
    onFault: ({ message }) => faults.push(message),
    onState: () => {},
  });
  watch.onConnected();
  await watch.whenChecked();
  return { server, init, watch, faults };
}

// Twice the reserve is a tenth of a small stream, and much less of a large one.
withPrograms(['nats-server'], test.each([64 * MIB, 2048 * MIB]))(
  'StreamWatch drops records that sinks might read again before logs wait for room that never comes: %d bytes',
  LIMIT,
  async (bytesMax) => {
    const { watch } = await openWatch({ bytesMax });
    expect(watch.bytesMax).toBe(bytesMax);
    watch.addBytes(bytesMax * (1 - RESUME_SHARE) - MIB);
    expect(watch.isTight).toBe(false);
    watch.addBytes(2 * MIB);
    expect(watch.isTight).toBe(true);
  },
);

withPrograms(['nats-server'], test)(
  'StreamWatch reports once that the stream was removed or changed while in use, and continues when it is right again',
  LIMIT,
  async () => {
    const { server, init, watch, faults } = await openWatch({ bytesMax: MIB });
    await server.removeStream('RX_test');
    await watch.look();
    expect(thrownBy(() => watch.checkWritable())).toMatchObject({ code: 'absent', disposition: 'operator' });
    await watch.look();
    await init();
    await watch.look();
    watch.checkWritable();
    await server.updateStream('RX_test', { discard: DiscardPolicy.Old });
    await watch.look();
    expect(thrownBy(() => watch.checkWritable())).toMatchObject({ code: 'broken' });
    expect(faults).toEqual([
      'The cluster has no stream RX_test',
      'The stream RX_test is not as the cluster needs it: discard is "old" and must be "new"',
    ]);
  },
);

withPrograms(['nats-server'], test)(
  'StreamWatch lets sinks be changed while the stream is full, and has no room for records',
  LIMIT,
  async () => {
    const { server, watch } = await openWatch({ bytesMax: MIB });
    await server.fill('rx.test.rec.plant-7.network', 20_000);
    await watch.look();
    expect(thrownBy(() => watch.checkRoom(0)).code).toBe('full');
    watch.checkWritable();
  },
);
