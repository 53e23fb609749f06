import type { z } from 'zod';
import {
  type Filled,
  findSecretForm,
  isWritten,
  type Place,
  refuseSecretForms,
  type Settled,
  type SoundOf,
  secret,
  secretShape,
  text,
  tlsSection,
  token,
} from '../../settings/index.ts';
import type { ClientAuth } from '../client-auth.ts';

/** Keys of the settings of a network client: TLS and authentication. */

/** The key `tls`; only for TLS addresses. */
export const tls = tlsSection({
  section: 'TLS settings. Only for TLS addresses.',
  caFile: 'PEM file with the trusted CA certificates. Default: those of the system and of Node.js.',
  serverName: 'Host name that the certificate must carry. Default: the host of the address.',
  certFile: 'PEM file with the client certificate of the agent. Requires `key_file`.',
  fingerprint:
    'SHA-256 fingerprint of the server certificate, in hexadecimal. Only this certificate is accepted; without `ca_file`, it need not be signed by a trusted CA. Not for `nats`.',
  insecure: 'Accepts any certificate. An attacker in between can then read records and secrets.',
}).optional();

/**
 * Rejects `tls` for unencrypted connections (`plainReason` says why), a certificate without its key, and a key without
 * its certificate.
 */
export function checkTls(place: Place, section: SoundOf<typeof tls>, plainReason: string | undefined): void {
  const { file, path } = place;
  if (!isWritten(place, 'tls')) return;
  if (plainReason !== undefined) {
    file.faults.add([...path, 'tls'], `"tls" has no effect here, because ${plainReason}`, { aim: 'key' });
  }
  const inside = { file, path: [...path, 'tls'] };
  for (const [present, missing] of [
    ['cert_file', 'key_file'],
    ['key_file', 'cert_file'],
  ] as const) {
    if (section?.[present] === undefined || isWritten(inside, missing)) continue;
    file.faults.add([...inside.path, present], `"${present}" needs "${missing}" beside it`);
  }
}

/** Keys of the authentication methods; a client uses at most one method. */
export const accountShape = {
  username: text({ description: 'Account, with a password.' }).optional(),
  ...secretShape('password', secret('Password of the account.')),
  ...secretShape('bearer_token', token('Bearer token, instead of an account.')),
};

/** The authentication method of Elasticsearch. */
export const apiKeyShape = secretShape('api_key', token('API key in its encoded form, instead of an account.'));

/** The account among the settings of a client. */
type AccountSettings = Settled<Filled<SoundOf<z.ZodObject<typeof accountShape & typeof apiKeyShape>>>>;

/** The secret of each authentication method. */
const WAYS = ['password', 'bearer_token', 'api_key'] as const;

/** Returns the first configured key of each authentication method. `own`: keys of methods that only this client has. */
export function listWays(place: Place, ...own: readonly string[]): string[] {
  const [account, ...others] = WAYS.map((name) => findSecretForm(place, name));
  const first = isWritten(place, 'username') ? 'username' : account;
  const written = [first, ...others, ...own.filter((key) => isWritten(place, key))];
  return written.filter((key) => key !== undefined);
}

/** Rejects a second authentication method, and a user name without a password or vice versa. `who`: the client in messages. */
export function checkAccount(place: Place, who: string, ...own: readonly string[]): void {
  const { file, path } = place;
  for (const name of WAYS) refuseSecretForms(place, name);
  const [first, ...others] = listWays(place, ...own);
  for (const key of others) {
    file.faults.add([...path, key], `Both "${first}" and "${key}" are set; ${who} uses one authentication method`, {
      aim: 'key',
    });
  }
  const password = findSecretForm(place, 'password');
  if (password === undefined && isWritten(place, 'username')) {
    file.faults.add([...path, 'username'], '"username" needs "password" or "password_file" beside it', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" needs "username" beside it`, { aim: 'key' });
  }
}

/** Returns the credentials among the settings of a client; `undefined`: none. */
export function toClientAuth({
  username,
  password,
  bearer_token: bearer,
  api_key: key,
}: AccountSettings): ClientAuth | undefined {
  if (username !== undefined && password) return { kind: 'basic', username, password };
  if (bearer) return { kind: 'bearer', token: bearer };
  return key && { kind: 'api-key', key };
}
