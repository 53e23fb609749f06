import type { Secret } from '../base/index.ts';
import type { RouterClientOptions } from '../router/index.ts';
import { type ClientTls, revealTls } from '../settings/index.ts';
import type { RouterSettings } from './config.ts';

/** The part of a client's options that is configured. */
type ConfiguredOptions = Omit<
  RouterClientOptions,
  'clock' | 'report' | 'onBody' | 'downloadMsMax' | 'beforePiece' | 'connectionLimit' | 'lookup' | 'tls'
> & {
  /** Verification of the certificate. */
  readonly tls: ClientTls;
};

/** Returns how a router is reached, as options of its client. */
export function toClientOptions(settings: RouterSettings): ConfiguredOptions {
  const { url, username, password, auth, bearerToken, headers, proxy, sourceAddress, poll } = settings;
  return {
    url,
    username,
    password,
    auth,
    bearerToken,
    headers,
    proxy,
    sourceAddress,
    tls: revealTls(settings.tls),
    requestTimeoutMs: poll.timeoutMs,
    connectTimeoutMs: poll.connectTimeoutMs,
  };
}

/** Lists the secrets that requests to a router hold. */
export function listRequestSecrets({ password, bearerToken, headers, proxy }: RouterSettings): readonly Secret[] {
  return [password, bearerToken, proxy?.password, ...Object.values(headers ?? {})].filter((one) => one !== undefined);
}
