import type { ClusterStoreOptions } from './cluster-store.ts';
import { ClusterLink } from './link.ts';
import { type ClusterStreamSize, initClusterStream } from './stream.ts';
import { Subjects } from './subjects.ts';

/** The cluster to create. */
export interface ClusterInitOptions extends ClusterStreamSize, Pick<ClusterStoreOptions, 'servers' | 'cluster'> {}

/**
 * Creates the stream of a cluster. Resolves to true if it was created, and to false if it was there and is as it must be. Rejects
 * with `broken`, naming the fields, if it is another one, and with `unwritable` if no server answers.
 */
export async function initCluster({ servers, cluster, ...size }: ClusterInitOptions): Promise<boolean> {
  const link = new ClusterLink({ ...servers, who: `Cluster ${cluster}`, peer: 'cluster' }, () => {});
  try {
    return await initClusterStream(link, new Subjects(cluster), size);
  } finally {
    await link.close();
  }
}
