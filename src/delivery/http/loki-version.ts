import { decodeObject, parseJson } from '../../base/index.ts';
import type { SinkHttpClient } from './sink-http-client.ts';

/** Path of Loki's version, available without a login. */
const BUILD_INFO_PATH = '/loki/api/v1/status/buildinfo';

/** Asks for the version of the Loki below `basePath`; `undefined` if it is not known to be Loki. Throws only when aborted. */
export async function askLokiVersion(
  client: SinkHttpClient,
  basePath: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const answer = await client.getFromRoot(`${basePath.replace(/\/+$/, '')}${BUILD_INFO_PATH}`, signal);
    const { version, revision } = (answer.status === 200 && decodeObject(parseJson(answer.body))) || {};
    return typeof version === 'string' && typeof revision === 'string' ? answer.quote(version) : undefined;
  } catch {
    signal.throwIfAborted();
    // Not reachable: the test record shows that.
    return undefined;
  }
}
