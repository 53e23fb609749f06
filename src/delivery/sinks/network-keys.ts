import type { z } from 'zod';
import type { Secret } from '../../base/index.ts';
import {
  isWritten,
  type NamedFileReader,
  type Place,
  readTls,
  refuseBoth,
  type SecretKind,
  type SoundOf,
  secret,
  secretPath,
  type TlsSettings,
  text,
  tlsSection,
} from '../../settings/index.ts';
import type { SinkAuth } from '../auth.ts';
import { isToken, TOKEN, token } from './network-values.ts';

/** Keys of network sinks: TLS and authentication. */

/** The key `tls`; only for TLS addresses. */
export const tls = tlsSection({
  section: 'TLS settings. Only for TLS addresses.',
  caFile: 'PEM file with the trusted CA certificates. Default: those of the system.',
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

/** Reads the TLS files of the sink at `place`. */
export async function readSinkTls(
  place: Place,
  section: SoundOf<typeof tls>,
  reader: NamedFileReader,
): Promise<TlsSettings> {
  return await readTls({ file: place.file, path: [...place.path, 'tls'] }, section, reader);
}

/** Keys of the authentication methods; a sink uses at most one method. */
export const accountShape = {
  username: text({ description: 'Account, with `password` or `password_file`.' }).optional(),
  password: secret({ description: 'Password of the account.' }).optional(),
  password_file: secretPath(
    'File with the password; one trailing line end is ignored. Replaces `password`.',
  ).optional(),
  bearer_token: token({ description: 'Bearer token, instead of an account.' }).optional(),
  bearer_token_file: secretPath(
    'File with the token; one trailing line end is ignored. Replaces `bearer_token`.',
  ).optional(),
};

/** The authentication method of Elasticsearch. */
export const apiKeyShape = {
  api_key: token({ description: 'API key in its encoded form, instead of an account.' }).optional(),
  api_key_file: secretPath('File with the API key; one trailing line end is ignored. Replaces `api_key`.').optional(),
};

/** The valid authentication keys of a configuration. */
type WrittenAccount = SoundOf<z.ZodObject<typeof accountShape & typeof apiKeyShape>>;

/** The keys of each authentication method. Messages name the first key. */
const WAYS = [
  ['username', 'password', 'password_file'],
  ['bearer_token', 'bearer_token_file'],
  ['api_key', 'api_key_file'],
] as const;

/** Returns the first configured key of each authentication method. `own`: keys of methods that only this sink has. */
export function listWays(place: Place, ...own: readonly string[]): string[] {
  const ways: readonly (readonly string[])[] = [...WAYS, ...own.map((key) => [key])];
  return ways.flatMap((keys) => keys.find((key) => isWritten(place, key)) ?? []);
}

/** Rejects a second authentication method, and a user name without a password or vice versa. */
export function checkAccount(place: Place, ...own: readonly string[]): void {
  const { file, path } = place;
  refuseBoth(place, 'password', 'password_file');
  refuseBoth(place, 'bearer_token', 'bearer_token_file');
  refuseBoth(place, 'api_key', 'api_key_file');
  const [first, ...others] = listWays(place, ...own);
  for (const key of others) {
    file.faults.add([...path, key], `Both "${first}" and "${key}" are set; a sink uses one authentication method`, {
      aim: 'key',
    });
  }
  const password = (['password', 'password_file'] as const).find((key) => isWritten(place, key));
  if (password === undefined && isWritten(place, 'username')) {
    file.faults.add([...path, 'username'], '"username" needs "password" or "password_file" beside it', { aim: 'key' });
  }
  if (password !== undefined && !isWritten(place, 'username')) {
    file.faults.add([...path, password], `"${password}" needs "username" beside it`, { aim: 'key' });
  }
}

const TOKEN_FILE: SecretKind = { expected: TOKEN, isValid: isToken };

/** Reads the credentials of the sink at `place` from the configuration and from files. */
export async function readAccount(
  place: Place,
  keys: WrittenAccount,
  reader: NamedFileReader,
): Promise<SinkAuth | undefined> {
  const read = async (key: 'password' | 'bearer_token' | 'api_key', kind?: SecretKind): Promise<Secret | undefined> => {
    const name = keys[`${key}_file`];
    const at = { file: place.file, path: [...place.path, `${key}_file`] };
    return (name === undefined ? undefined : await reader.readSecret(at, name, kind)) ?? keys[key];
  };
  // Read all before choosing one, so that every fault is reported.
  const password = await read('password');
  const bearer = await read('bearer_token', TOKEN_FILE);
  const key = await read('api_key', TOKEN_FILE);
  if (keys.username !== undefined && password) return { kind: 'basic', username: keys.username, password };
  if (bearer) return { kind: 'bearer', token: bearer };
  return key && { kind: 'api-key', key };
}

/** Renders credentials as keys. */
export function renderAccount(auth: SinkAuth | undefined): object {
  switch (auth?.kind) {
    case undefined:
      return {};
    case 'basic':
      return { username: auth.username, password: auth.password };
    case 'bearer':
      return { bearer_token: auth.token };
    case 'api-key':
      return { api_key: auth.key };
  }
}
