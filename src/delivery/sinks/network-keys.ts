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

/** Keys of sinks that are reached over a network: how TLS is checked, and how the agent proves who it is. */

/** Addresses over TLS only. */
export const tls = tlsSection({
  section: 'How the certificate of the other side is checked. Only where the address is one of TLS.',
  caFile: 'PEM file with the certificates of the authorities to trust, instead of those of the system.',
  serverName: 'Host name that the certificate must carry. Default: the host of the address.',
  certFile: 'PEM file with the certificate that the agent shows when it is asked for one. With `key_file`.',
  fingerprint:
    'SHA-256 of the certificate of the other side, in hexadecimal. No other certificate is accepted; without `ca_file` this one needs nobody else to vouch for it. Not for `nats`.',
  insecure: 'Accepts every certificate. Whoever stands in between can then read records and secrets.',
}).optional();

/**
 * Refuses `tls` where nothing is encrypted (`plainReason` says why), a certificate without its key, and a key without its
 * certificate.
 */
export function checkTls(place: Place, section: SoundOf<typeof tls>, plainReason: string | undefined): void {
  const { file, path } = place;
  if (!isWritten(place, 'tls')) return;
  if (plainReason !== undefined) {
    file.faults.add([...path, 'tls'], `"tls" means nothing here, because ${plainReason}`, { aim: 'key' });
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

/** Reads the files of `tls` of the sink at `place`. */
export async function readSinkTls(
  place: Place,
  section: SoundOf<typeof tls>,
  reader: NamedFileReader,
): Promise<TlsSettings> {
  return await readTls({ file: place.file, path: [...place.path, 'tls'] }, section, reader);
}

/** Ways to prove who the agent is; at most one of them. */
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

/** One more way, as Elasticsearch has it. */
export const apiKeyShape = {
  api_key: token({ description: 'API key in its encoded form, instead of an account.' }).optional(),
  api_key_file: secretPath('File with the API key; one trailing line end is ignored. Replaces `api_key`.').optional(),
};

/** What of them stands in a file, as far as it is sound. */
type WrittenAccount = SoundOf<z.ZodObject<typeof accountShape & typeof apiKeyShape>>;

/** The keys of each way. The first key of each stands for it in messages. */
const WAYS = [
  ['username', 'password', 'password_file'],
  ['bearer_token', 'bearer_token_file'],
  ['api_key', 'api_key_file'],
] as const;

/** The first key of each way that is written, with keys of ways that only this sink knows. */
export function listWays(place: Place, ...own: readonly string[]): string[] {
  const ways: readonly (readonly string[])[] = [...WAYS, ...own.map((key) => [key])];
  return ways.flatMap((keys) => keys.find((key) => isWritten(place, key)) ?? []);
}

/** Refuses a second way, and half of an account. */
export function checkAccount(place: Place, ...own: readonly string[]): void {
  const { file, path } = place;
  refuseBoth(place, 'password', 'password_file');
  refuseBoth(place, 'bearer_token', 'bearer_token_file');
  refuseBoth(place, 'api_key', 'api_key_file');
  const [first, ...others] = listWays(place, ...own);
  for (const key of others) {
    file.faults.add([...path, key], `Both "${first}" and "${key}" are set; a sink has one way to prove who it is`, {
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

/** Reads the account of the sink at `place`, from the file or from files of its own. */
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
  // All are read before one is taken, so that every fault is told.
  const password = await read('password');
  const bearer = await read('bearer_token', TOKEN_FILE);
  const key = await read('api_key', TOKEN_FILE);
  if (keys.username !== undefined && password) return { kind: 'basic', username: keys.username, password };
  if (bearer) return { kind: 'bearer', token: bearer };
  return key && { kind: 'api-key', key };
}

/** The keys of an account. */
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
