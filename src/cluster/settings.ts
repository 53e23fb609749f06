import { hostname } from 'node:os';
import type { z } from 'zod';
import { checkNatsServers, natsServersShape } from '../net/index.ts';
import {
  byteSize,
  type ConfigFile,
  checked,
  duration,
  type Filled,
  NamedFileReader,
  name,
  parseRouterUrl,
  type Settled,
  type SoundOf,
  section,
  webUrl,
  wholeNumber,
} from '../settings/index.ts';

const CLUSTER_NAME_CHARS_MAX = 64;
/** A renewal a second. Milliseconds. */
const LEASE_MS_MIN = 3000;
const LEASE_MS_MAX = 10 * 60_000;
const GRACE_MS_MAX = 30 * 86_400_000;
const REPLICAS_MAX = 5;
const ADVERTISE = 'an http or https URL of scheme, host, port and path prefix alone, such as http://exporter-0:9847';

/** Schema of the section `cluster`. */
export const clusterSchema = section('Several replicas that share the routers, with NATS JetStream as their engine.', {
  nats: section('The engine of the cluster. Set up once with `router-exporter cluster init`. Default: no cluster.', {
    ...natsServersShape,
    name: checked(
      {
        description:
          'Name of the cluster, in the names of its streams (`RX_name`, and `RXD_name` for dead letters) and of its bucket (`rx_name`).',
        kind: 'name',
      },
      'the name of a cluster: letters, digits, "_" and "-"',
      CLUSTER_NAME_CHARS_MAX,
      (value) => /^[A-Za-z0-9_-]+$/.test(value),
    ).prefault('router-exporter'),
    replica: name({
      description: 'Name of this process, unique in the cluster. Default: the host name of the machine.',
    }).optional(),
    advertise: webUrl(
      {
        description:
          'Base URL at which the other replicas, browsers and Prometheus (`/sd`) reach this process, such as `http://exporter-0:9847`. Default: none; then the others can neither show nor redirect to its routers.',
      },
      ADVERTISE,
      parseRouterUrl,
    ).optional(),
    lease: duration(
      {
        description:
          'Time after which the routers of a replica that is not heard of go to others. Renewed three times as often.',
      },
      LEASE_MS_MIN,
      LEASE_MS_MAX,
    ).prefault('15s'),
    status_grace: duration(
      {
        description:
          'How long a replica that cannot reach the engine still asks its routers for their status. Logs are not read meanwhile.',
        advanced: true,
      },
      LEASE_MS_MIN,
      GRACE_MS_MAX,
    ).prefault('15m'),
    replicas: wholeNumber(
      {
        description:
          'Copies of stream and bucket, each on a server of its own, that `cluster init` asks for. 1 loses acknowledged records with its server.',
      },
      1,
      REPLICAS_MAX,
    ).prefault(3),
    max_bytes: byteSize({
      description: 'Size of the stream that `cluster init` asks for. Default: `storage.spool_max`.',
    }).optional(),
  }).optional(),
});

type NatsKeys = z.output<NonNullable<ReturnType<typeof clusterSchema.shape.nats.unwrap>>>;

/** The engine of a cluster, and this process in it. */
export type ClusterSettings = Settled<Filled<NatsKeys>> & { readonly replica: string };

/** Reads the section `cluster` and its files; `undefined` without one, or with a fault. */
export async function readCluster(
  main: ConfigFile,
  keys: SoundOf<typeof clusterSchema> | undefined,
): Promise<ClusterSettings | undefined> {
  const place = { file: main, path: ['cluster', 'nats'] };
  if (!keys?.nats) return undefined;
  checkNatsServers(place, keys.nats, { who: 'a cluster', kind: 'A cluster' });
  const settings = await new NamedFileReader().readSection(place, clusterSchema.shape.nats.unwrap(), keys.nats);
  if (main.faults.touches(['cluster'])) return undefined;
  // Without faults the keys are complete.
  const { replica = toName(hostname()), ...same } = settings as Settled<Filled<NatsKeys>>;
  return { ...same, replica };
}

function toName(host: string): string {
  const plain = host.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, CLUSTER_NAME_CHARS_MAX);
  return /^\.{0,2}$/.test(plain) ? 'replica' : plain;
}
