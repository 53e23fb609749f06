import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../../src/base/index.ts';
import { ClusterLink } from '../../../src/store/cluster/link.ts';
import { StreamWatch } from '../../../src/store/cluster/stream-watch.ts';
import { Subjects } from '../../../src/store/cluster/subjects.ts';
import { initCluster, RESUME_SHARE } from '../../../src/store/index.ts';
import { openNatsServer } from '../../support/sinks/nats-server.ts';
import { findTool } from '../../support/tools.ts';

const { isMissing, note } = findTool('nats-server');
const MIB = 1024 * 1024;

// Twice the reserve is a tenth of a small stream, and much less of a large one.
test.skipIf(isMissing).each([64 * MIB, 2048 * MIB])(
  `StreamWatch gives up what sinks might get again before logs wait for room that never comes: %d bytes${note}`,
  { timeout: 30_000 },
  async (bytesMax) => {
    await using server = await openNatsServer({ fileMax: '4GB' });
    const servers = { servers: [server.url], clock: createSystemClock(), who: 'Test', peer: 'cluster' } as const;
    await initCluster({ servers, cluster: 'test', replicas: 1, bytesMax });
    const link = new ClusterLink(servers, () => {});
    onTestFinished(() => link.close());
    await link.ready();
    const ignore = () => {};
    const subjects = new Subjects('test');
    const watch = new StreamWatch({ link, subjects, onReady: ignore, onFault: ignore, onState: ignore });
    watch.noteConnected();
    await watch.whenChecked();

    expect(watch.bytesMax).toBe(bytesMax);
    watch.addBytes(bytesMax * (1 - RESUME_SHARE) - MIB);
    expect(watch.isTight).toBe(false);
    watch.addBytes(2 * MIB);
    expect(watch.isTight).toBe(true);
  },
);
