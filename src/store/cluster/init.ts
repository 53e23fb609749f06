import type { ClusterStoreOptions } from './cluster-store.ts';
import { ClusterLink } from './link.ts';
import { type ClusterStreamSize, initClusterStreams } from './stream.ts';
import { Subjects } from './subjects.ts';

/** The cluster to create. */
export interface ClusterInitOptions extends ClusterStreamSize, Pick<ClusterStoreOptions, 'servers' | 'cluster'> {}

/**
 * Creates the streams of a cluster. Resolves to true if one was created, and to false if they were there and are as they must be. Rejects
 * with `broken`, naming the fields, if it is another one, and with `unwritable` if no server answers.
 */
export async function initCluster({ servers, cluster, ...size }: ClusterInitOptions): Promise<boolean> {
  const link = new ClusterLink({ ...servers, who: `Cluster ${cluster}`, peer: 'cluster' }, () => {});
  try {
    return await initClusterStreams(link, new Subjects(cluster), size);
  } finally {
    await link.close();
  }
}
