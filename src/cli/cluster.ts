import { CodedError, createSystemClock, openDeadline, renderErrorChain } from '../base/index.ts';
import {
  type Bucket,
  type ClusterModule,
  type ClusterSettings,
  type ClusterView,
  loadCluster,
} from '../cluster/index.ts';
import type { Config } from '../config/index.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, renderTable, writeResult } from './support/io.ts';
import { type ConfigFlags, readConfig, refuseConfig } from './support/read-config.ts';

const COMMAND_MS_MAX = 30_000;
const clock = createSystemClock();
/** Servers reveal this setting only to the system account and their monitoring port. */
const SYNC_NOTE =
  'Each server needs "sync_interval: always" in its section "jetstream": without it, a power cut of several servers loses the last commits, though acknowledged. Servers do not report to clients whether it is set\n';

/** `cluster init`: creates the streams and the bucket of a cluster. */
export function initCluster(flags: ConfigFlags, io: CommandIo): Promise<ExitCode> {
  return withCluster(flags, io, async ({ bucket, engine, settings, config }) => {
    const { storage, dead_letters: deadLetters } = config;
    const { name, replicas, max_bytes: streamBytesMax = storage.spool_max } = settings;
    const size = { replicas, bytesMax: streamBytesMax, deadLettersBytesMax: deadLetters.max };
    const streams = await engine.initCluster({
      servers: engine.toNatsServers(settings, clock),
      cluster: name,
      ...size,
    });
    const all = [
      ...streams,
      { name: bucket.stream, content: 'members and owners', isNew: await bucket.init(replicas) },
    ];
    const say = (isNew: boolean) => (isNew ? 'was created' : 'is there already');
    await writeResult(all.map((one) => `${one.name} (${one.content}) ${say(one.isNew)}\n`).join(''), io);
    io.stderr.write(SYNC_NOTE);
    return EXIT.done;
  });
}

interface ReplicaRow {
  readonly replica: string;
  readonly state: 'member' | 'missing';
  readonly address: string | null;
  readonly version: string | null;
  readonly started: string | null;
  readonly list: string | null;
  readonly routers: number;
}

/** `cluster status`: lists the replicas. */
export function showCluster(
  flags: ConfigFlags & { readonly json?: boolean | undefined },
  io: CommandIo,
): Promise<ExitCode> {
  return withCluster(flags, io, async ({ bucket, engine, settings: { name }, config, signal }) => {
    await bucket.check();
    const view = await engine.readView(bucket, clock, signal);
    const rows = listReplicas(view, config);
    const [isMissing, areListsDifferent] = [view.listMissing(clock.now()).size > 0, view.areListsDifferent];
    if (flags.json) {
      await writeResult(renderJson({ cluster: name, areListsDifferent, replicas: rows }), io);
    } else {
      const cells = rows.map((one) => [
        one.replica,
        one.state,
        String(one.routers),
        one.version ?? '',
        one.list ?? '',
        one.started ?? '',
        one.address ?? '',
      ]);
      await writeResult(
        renderTable(['REPLICA', 'STATE', 'ROUTERS', 'VERSION', 'LIST', 'STARTED', 'ADDRESS'], cells),
        io,
      );
      if (areListsDifferent) await writeResult('The replicas know different routers.\n', io);
    }
    return isMissing || areListsDifferent || view.members.length === 0 ? EXIT.failed : EXIT.done;
  });
}

function listReplicas(view: ClusterView, { routers }: Config): ReplicaRow[] {
  const counts = new Map<string, number>();
  for (const { name } of routers) {
    const holder = view.findHolder(name)?.replica;
    if (holder !== undefined) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  }
  const members = view.members.map(({ replica, address = null, version, startedMs, routers: list }): ReplicaRow => {
    const started = new Date(startedMs).toISOString();
    return { replica, state: 'member', address, version, started, list, routers: counts.get(replica) ?? 0 };
  });
  const nothing = { address: null, version: null, started: null, list: null, routers: 0 };
  return [
    ...members,
    ...[...view.listMissing(clock.now()).keys()].map(
      (replica): ReplicaRow => ({ replica, state: 'missing', ...nothing }),
    ),
  ];
}

interface OpenCluster {
  readonly bucket: Bucket;
  readonly engine: ClusterModule;
  readonly settings: ClusterSettings;
  readonly config: Config;
  readonly signal: AbortSignal;
}

async function withCluster(
  flags: ConfigFlags,
  io: CommandIo,
  work: (cluster: OpenCluster) => Promise<ExitCode>,
): Promise<ExitCode> {
  const loaded = await readConfig(flags);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const { cluster: settings } = config;
  if (!settings) {
    io.stderr.write(`${flags['config.file']}: there is no section "cluster"\n`);
    return EXIT.usage;
  }
  using deadline = openDeadline(clock, COMMAND_MS_MAX, io.signal);
  const { signal } = deadline;
  const engine = await loadCluster();
  try {
    return await engine.withBucket(settings, clock, signal, (bucket) =>
      work({ bucket, engine, settings, config, signal }),
    );
  } catch (cause) {
    if (!(cause instanceof CodedError) && !signal.aborted) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
