import type { z } from 'zod';
import { accountShape, type apiKeyShape, checkAccount, checkTls, listWays, tls } from '../../net/index.ts';
import { headersShape, isWritten, type Place, type SoundOf } from '../../settings/index.ts';
import { replay, timeout } from './common-keys.ts';

/** Keys of sinks that are reached over HTTP. */

/** Keys that all sinks over HTTP have. */
export const webShape = {
  ...accountShape,
  ...headersShape({
    description: 'Headers added to every request.',
    ofFiles: 'Headers whose values are read from files; one trailing line end is ignored. In addition to `headers`.',
  }),
  timeout,
  replay: replay(
    '0',
    'Records of this last period are sent again from the spool after a broken connection, a 5xx response or a restart of the agent. For receivers that acknowledge records before they are safe, such as VictoriaLogs; some records are duplicated. 0 = none.',
  ),
  tls,
};

/** The valid keys of a configuration. */
type WrittenWeb = SoundOf<z.ZodObject<typeof webShape & typeof apiKeyShape>>;

/** Rejects combinations of keys of an HTTP sink. `ownHeaders`: headers that other keys set, by name in lower case. */
export function checkWeb(
  place: Place,
  keys: WrittenWeb,
  url: string | undefined,
  ownHeaders: Readonly<Record<string, string>> = {},
): void {
  checkAccount(place, 'a sink');
  if (keys.username?.includes(':')) {
    const message = 'A user name must not contain ":", which separates it from the password in HTTP';
    place.file.faults.add([...place.path, 'username'], message);
  }
  checkHeaders(place, keys, ownHeaders);
  checkTls(place, keys.tls, url?.startsWith('http:') ? '"url" begins with http://' : undefined);
}

/** Rejects a header that is set twice, ignoring case, or that another key of the sink already sets. */
function checkHeaders(place: Place, keys: WrittenWeb, ownHeaders: Readonly<Record<string, string>>): void {
  const { file, path } = place;
  const own = Object.entries(ownHeaders).filter(([, key]) => isWritten(place, key));
  const first = new Map([...listWays(place).map((key) => ['authorization', key] as const), ...own]);
  for (const map of ['headers', 'header_files'] as const) {
    for (const name of Object.keys(keys[map] ?? {})) {
      const earlier = first.get(name.toLowerCase());
      const message = `The header "${name}" is already set by "${earlier}"`;
      if (earlier !== undefined) file.faults.add([...path, map, name], message, { aim: 'key' });
      else first.set(name.toLowerCase(), `${map}.${name}`);
    }
  }
}
