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
  const { url, username, password, auth, headers, proxy, poll } = settings;
  return {
    url,
    username,
    password,
    auth,
    bearerToken: settings.bearer_token,
    headers,
    proxy: proxy && { ...proxy, caPem: proxy.ca_file },
    sourceAddress: settings.source_address,
    tls: revealTls(settings.tls),
    requestTimeoutMs: poll.timeout,
    connectTimeoutMs: poll.connect_timeout,
  };
}

/** Lists the secrets that requests to a router hold. */
export function listRequestSecrets({ password, headers, proxy, ...more }: RouterSettings): readonly Secret[] {
  const secrets = [password, more.bearer_token, proxy?.password, ...Object.values(headers ?? {})];
  return secrets.filter((one) => one !== undefined);
}
