import type { Secret } from '../base/index.ts';

/** Credentials for a sink. */
export type SinkAuth =
  | { readonly kind: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly kind: 'bearer'; readonly token: Secret }
  /** `Authorization: ApiKey …`, as used by Elasticsearch. */
  | { readonly kind: 'api-key'; readonly key: Secret };

/** Renders the value of the `Authorization` header, with the secret in clear text. */
export function renderAuthorization(auth: SinkAuth): string {
  switch (auth.kind) {
    case 'basic':
      return `Basic ${Buffer.from(`${auth.username}:${auth.password.reveal()}`, 'utf8').toString('base64')}`;
    case 'bearer':
      return `Bearer ${auth.token.reveal()}`;
    case 'api-key':
      return `ApiKey ${auth.key.reveal()}`;
  }
}

/** Returns the secret of credentials. */
export function secretOf(auth: SinkAuth): Secret {
  switch (auth.kind) {
    case 'basic':
      return auth.password;
    case 'bearer':
      return auth.token;
    case 'api-key':
      return auth.key;
  }
}

/** Lists all texts that must never be shown. */
export function listSecrets(auth: SinkAuth): readonly string[] {
  const [, credentials = ''] = renderAuthorization(auth).split(' ', 2);
  return auth.kind === 'basic' ? [credentials, auth.password.reveal()] : [credentials];
}
