import type { Secret } from '../base/index.ts';

/** Authentication of a client. */
export type ClientAuth =
  | { readonly kind: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly kind: 'bearer'; readonly token: Secret }
  /** `Authorization: ApiKey …`, as used by Elasticsearch. */
  | { readonly kind: 'api-key'; readonly key: Secret };

/** Returns the secret of credentials. */
export function secretOf(auth: ClientAuth): Secret {
  switch (auth.kind) {
    case 'basic':
      return auth.password;
    case 'bearer':
      return auth.token;
    case 'api-key':
      return auth.key;
  }
}
