import { type Clock, openDeadline, untilAborted } from '../base/index.ts';
import { connectToNats, loadNatsLibrary, type NatsServers, toClientAuth } from '../net/index.ts';
import { revealTls } from '../settings/index.ts';
import { Bucket } from './bucket.ts';
import type { ClusterSettings } from './settings.ts';
import { ClusterView } from './view.ts';

/** Time limit of one attempt to reach the engine, and of each request. Milliseconds. */
export const ATTEMPT_MS_MAX = 5000;

/** The engine of a cluster as servers of NATS. */
export function toNatsServers(settings: ClusterSettings, clock: Clock): NatsServers {
  const { servers, credentials_file: credentials } = settings;
  const auth = toClientAuth(settings);
  return { who: 'The cluster', peer: 'cluster', servers, auth, credentials, tls: revealTls(settings.tls), clock };
}

/** Opens the bucket of a cluster for one piece of work. Throws `NatsError` and {@link ClusterError}. */
export async function withBucket<T>(
  settings: ClusterSettings,
  clock: Clock,
  signal: AbortSignal,
  work: (bucket: Bucket) => Promise<T>,
): Promise<T> {
  const nats = await loadNatsLibrary();
  const connection = await connectToNats(nats, toNatsServers(settings, clock), signal);
  try {
    const bucket = new Bucket({ nats, connection, cluster: settings.name, requestMsMax: ATTEMPT_MS_MAX });
    return await untilAborted(work(bucket), signal);
  } finally {
    await connection.close();
  }
}

/** Reads the view of a cluster as it is now. */
export async function readView(bucket: Bucket, clock: Clock, signal: AbortSignal): Promise<ClusterView> {
  const view = new ClusterView();
  const lastSeq = await bucket.readLastSequence();
  if (lastSeq === 0) return view;
  const complete = new AbortController();
  // The last entry may end meanwhile, and would then be waited for in vain.
  using limit = openDeadline(clock, ATTEMPT_MS_MAX, AbortSignal.any([signal, complete.signal]));
  const watching = bucket.watch((entry) => {
    view.apply(entry);
    if (entry.seq >= lastSeq) complete.abort();
  }, limit.signal);
  await watching.catch((cause: unknown) => {
    if (!limit.signal.aborted || signal.aborted) throw cause;
  });
  return view;
}
