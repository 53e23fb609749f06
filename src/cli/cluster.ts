import { CodedError, createSystemClock, openDeadline, renderErrorChain } from '../base/index.ts';
import {
  type Bucket,
  type ClusterSettings,
  type ClusterView,
  readView,
  toNatsServers,
  withBucket,
} from '../cluster/index.ts';
import type { Config } from '../config/index.ts';
import { initCluster as initStreams } from '../store/index.ts';
import { readConfig, refuseConfig } from './configuration.ts';
import { type CommandIo, EXIT, type ExitCode, renderJson, writeResult } from './terminal/io.ts';
import { renderTable } from './terminal/show.ts';

/** Options of `cluster init`. */
interface ClusterFlags {
  /** Path of the configuration file. */
  readonly configFile: string;
}

/** Time limit of a command. Milliseconds. */
const COMMAND_MS_MAX = 30_000;
const clock = createSystemClock();
/** A server tells its setting to the system account and its monitoring port alone. */
const SYNC_NOTE =
  'Each server needs "sync_interval: always" in its section "jetstream": without it, a power cut of several servers loses the last commits, though acknowledged. Servers do not tell clients whether they have it\n';

/** `cluster init`: creates the streams and the bucket of a cluster. */
export function initCluster(flags: ClusterFlags, io: CommandIo): Promise<ExitCode> {
  return withCluster(flags, io, async (bucket, settings, { storage, dead_letters: deadLetters }) => {
    const { name, replicas, max_bytes: streamBytesMax = storage.spool_max } = settings;
    const size = { replicas, bytesMax: streamBytesMax, lettersBytesMax: deadLetters.max };
    const streams = await initStreams({ servers: toNatsServers(settings, clock), cluster: name, ...size });
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

/** A replica, as `cluster status` shows it. */
interface ReplicaRow {
  readonly replica: string;
  readonly state: 'member' | 'missing';
  readonly address: string | null;
  readonly version: string | null;
  readonly started: string | null;
  /** Digest of the routers that it knows. */
  readonly list: string | null;
  /** Routers of the configuration that it has. */
  readonly routers: number;
}

/** `cluster status`: lists the replicas. */
export function showCluster(flags: ClusterFlags & { readonly isJson: boolean }, io: CommandIo): Promise<ExitCode> {
  return withCluster(flags, io, async (bucket, { name }, config, signal) => {
    await bucket.check();
    const view = await readView(bucket, clock, signal);
    const rows = listReplicas(view, config);
    const [isMissing, areListsDifferent] = [view.listMissing(clock.now()).size > 0, view.areListsDifferent];
    if (flags.isJson) {
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

type ClusterWork = (
  bucket: Bucket,
  settings: ClusterSettings,
  config: Config,
  signal: AbortSignal,
) => Promise<ExitCode>;

async function withCluster({ configFile }: ClusterFlags, io: CommandIo, work: ClusterWork): Promise<ExitCode> {
  const loaded = await readConfig(configFile);
  if (!loaded.ok) return refuseConfig(loaded, io);
  const { config } = loaded;
  const { cluster } = config;
  if (!cluster) {
    io.stderr.write(`${configFile}: there is no section "cluster"\n`);
    return EXIT.usage;
  }
  using deadline = openDeadline(clock, COMMAND_MS_MAX, io.signal);
  const { signal } = deadline;
  try {
    return await withBucket(cluster, clock, signal, (bucket) => work(bucket, cluster, config, signal));
  } catch (cause) {
    if (!(cause instanceof CodedError) && !signal.aborted) throw cause;
    io.stderr.write(`${renderErrorChain(cause)}\n`);
    return EXIT.failed;
  }
}
