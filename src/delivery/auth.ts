import type { ClientAuth } from '../net/index.ts';

/** Credentials for a sink. */
export type SinkAuth = ClientAuth;

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

/** Lists all texts that must never be shown. */
export function listSecrets(auth: SinkAuth): readonly string[] {
  const [, credentials = ''] = renderAuthorization(auth).split(' ', 2);
  return auth.kind === 'basic' ? [credentials, auth.password.reveal()] : [credentials];
}
