import { ClusterLink, type Engine, toEngine } from './link.ts';
import { type ClusterStream, type ClusterStreamSize, initClusterStreams } from './stream.ts';
import { Subjects } from './subjects.ts';

/** The cluster to create. */
export interface ClusterInitOptions extends ClusterStreamSize, Engine {}

/**
 * Creates the streams of a cluster that are missing, and changes none. Rejects with `broken`, naming the fields, if one is not as it
 * must be, and with `unwritable` if no server answers.
 */
export async function initCluster({
  servers,
  cluster,
  ...size
}: ClusterInitOptions): Promise<readonly ClusterStream[]> {
  const link = new ClusterLink(toEngine({ servers, cluster }));
  try {
    return await initClusterStreams(link, new Subjects(cluster), size);
  } finally {
    await link.close();
  }
}
